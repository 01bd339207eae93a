"""Settings as the database keeps them: JSON with the keys of a campaign file, less those that are
not given."""

from __future__ import annotations

from typing import Any

import msgspec

from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.records import Campaign

from . import GROUP_OF, Settings, of_keys


def document(settings: Settings) -> dict[str, Any]:
    return {
        key: msgspec.to_builtins(value)
        for key, value in settings.keys().items()
        if value is not None
    }


def text_of(settings: Settings) -> str:
    return msgspec.json.encode(document(settings)).decode()


def to_start(campaign: Campaign) -> Settings:
    """Return the settings by which launches are started here. Raises PlumblineError where settings
    of an imported campaign would set variables, preload libraries or submit jobs."""
    settings = settings_of(campaign.settings)
    ranks, fixed = settings.ranks, settings.fixed
    asks_for = [
        *(f"the variable {name}" for name in fixed.environment),
        *(f"the library {name}" for name in fixed.preload),
        *([] if ranks.place in (None, ranks.simulate) else ["hosts or a job of its own"]),
    ]
    if campaign.imported_from and asks_for:
        raise PlumblineError(
            f"campaign {campaign.named} asks for {', '.join(asks_for)}: what an imported campaign "
            f"asks for is not done here; `{command_name()} export` and `{command_name()} apply` "
            "use its winners alone"
        )
    return settings


def settings_of(text: str) -> Settings:
    """Read stored settings. Keys of other commands (`plumbline overlap tune`) are ignored. Raises
    PlumblineError for a text that is no settings, as a stranger's file may have."""
    try:
        values = msgspec.json.decode(text, type=dict[str, Any])
        return of_keys({key: value for key, value in values.items() if key in GROUP_OF})
    except ValueError as error:
        raise PlumblineError(
            f"settings of a campaign cannot be read ({error!s:.200}): it was written by another "
            "version of Plumbline, or by hand"
        ) from error
