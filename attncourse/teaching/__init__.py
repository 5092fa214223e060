"""For instructors: `handout` makes copies for students, `verify` says after an edit whether all still holds."""
