"""The exercises, one folder per chapter, one module per exercise."""
