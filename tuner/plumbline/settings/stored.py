"""Settings as the database keeps them: JSON with the keys of a campaign file, less those that are
not given."""

from __future__ import annotations

from typing import Any

import msgspec

from . import GROUP_OF, Settings, of_keys


def document(settings: Settings) -> dict[str, Any]:
    return {
        key: msgspec.to_builtins(value)
        for key, value in settings.keys().items()
        if value is not None
    }


def text_of(settings: Settings) -> str:
    return msgspec.json.encode(document(settings)).decode()


def settings_of(text: str) -> Settings:
    """What other commands keep beside them (`plumbline overlap tune`) is passed over."""
    values = msgspec.json.decode(text, type=dict[str, Any])
    return of_keys({key: value for key, value in values.items() if key in GROUP_OF})
