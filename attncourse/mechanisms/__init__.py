"""Every mechanism of the course, one module each, a screenful per class."""
