"""Reasons why a cell takes as long as it does: the model of a machine against its launches."""
