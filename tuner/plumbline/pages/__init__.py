"""The pages of `plumbline serve`, but for those of overlap: what the database says, for people."""
