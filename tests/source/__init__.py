"""Reading the project's own source: which modules there are, and what each imports and defines."""

from tests.source.modules import ROOT, Import, Module, modules_of_tests, product_modules, tracked_files

__all__ = ["ROOT", "Import", "Module", "modules_of_tests", "product_modules", "tracked_files"]
