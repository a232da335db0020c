"""Small segmentation ensembles and the files that networks write."""

import zipfile

import numpy as np


def probabilities(n_models=3, n_classes=3, space=(6, 9, 8), seed=0, sharpness=6.0):
    """Return probabilities (M, K, *space) of models that disagree near the edge of two balls."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in space), indexing="ij"))
    found = []
    for _ in range(n_models):
        logits = [np.zeros(space)]
        for k in range(1, n_classes):
            centre = 0.15 * rng.standard_normal(len(space)).reshape(-1, *([1] * len(space)))
            radius = np.sqrt(((grid - centre) ** 2).sum(axis=0))
            logits.append(
                sharpness * k * (1.2 - 0.3 * k - radius) + 0.3 * rng.standard_normal(space)
            )
        exp = np.exp(np.stack(logits))
        found.append(exp / exp.sum(axis=0))
    return np.stack(found).astype(np.float32)


def affine():
    """Return an affine with a rotation, anisotropic voxels of 0.5 x 0.8 x 2 mm and an offset."""
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    found = np.eye(4)
    found[:3, :3] = turn @ np.diag([0.5, 0.8, 2.0])
    found[:3, 3] = [-10, 20, 5]
    return found


def write_case(folder, name, volume, format_="npz", compressed=True, **options):
    """Write probabilities (K, *space) of one model as a network does."""
    folder.mkdir(parents=True, exist_ok=True)
    if format_ == "npz":
        save = np.savez_compressed if compressed else np.savez
        save(folder / f"{name}.npz", probabilities=volume)
    elif format_ == "npy":
        np.save(folder / f"{name}.npy", volume)
    elif format_.startswith("nii"):
        import nibabel

        image = nibabel.Nifti1Image(volume.T, affine())
        image.header.set_xyzt_units("mm")
        nibabel.save(image, folder / f"{name}.{format_}")
    else:
        from PIL import Image

        pages = [Image.fromarray(page) for page in options.get("pages", volume)]
        if format_ == "tif":
            pages[0].save(folder / f"{name}.tif", save_all=True, append_images=pages[1:])
        else:
            (folder / name).mkdir()
            for k, page in enumerate(pages):
                page.save(folder / name / f"class_{k}.{format_}")


def write_folds(root, cases, format_="npz", **options):
    """Write cases {name: (M, K, *space)} as one folder per model; return the folders."""
    folders = []
    for m in range(len(next(iter(cases.values())))):
        folders.append(root / f"fold_{m}")
        for name, volumes in cases.items():
            write_case(folders[-1], name, volumes[m], format_, **options)
    return folders


def read_maps(folder):
    """Return the maps of a case in the axes of the array that was written."""
    found = {}
    for path in folder.iterdir():
        name = path.name.split(".")[0]
        if path.name == "maps.npz":
            with zipfile.ZipFile(path) as archive:
                assert archive.testzip() is None
            with np.load(path) as arrays:
                found |= dict(arrays)
        elif path.suffix == ".npy":
            found[name] = np.load(path)
        elif path.name.endswith(".nii.gz"):
            import nibabel

            found[name] = np.asarray(nibabel.load(path).dataobj).T
        elif path.suffix == ".tif":
            from PIL import Image

            found[name] = np.asarray(Image.open(path))
    return found
