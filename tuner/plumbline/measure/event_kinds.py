"""Kinds of the events of a campaign that several rooms name."""

PUT_ASIDE = "put aside"
MEMBERS_DIFFER = "ranks differ"
LIMIT, NO_TIME = "time limit", "budget used up"
HINTS = "earlier campaign"
SLOW_MESSAGES = "slow messages"
NOT_ASKED = "not searched"  # cells without a violation, which --all searches
