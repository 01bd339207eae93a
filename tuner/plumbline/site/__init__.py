"""A whole installation in one campaign: every number of ranks and layout, one merged export, and
the proof of what was carried over to layouts that no campaign measured."""
