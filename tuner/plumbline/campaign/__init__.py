"""The loop of a campaign: measure, verify, search, export, prove, confirm."""
