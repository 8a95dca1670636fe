"""The version, here so that rooms need not import the package that opens all of them."""

__version__ = "0.1.0"
