"""A campaign that is under way in a database of its own, and what its launches leave there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plumbline.launch.starter import Starter
from plumbline.measure.launches import LaunchStore, Progress
from plumbline.measure.other_work import OtherWork
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Event, Run, Search


@dataclass(frozen=True)
class Lab:
    db: Database
    campaign: Campaign

    def store(
        self,
        starter: Starter,
        progress: Progress | None = None,
        other_work: OtherWork | None = None,
    ) -> LaunchStore:
        return LaunchStore(self.db, self.campaign.id, starter, progress, other_work)

    def runs(self, suites: Sequence[str] | None = None) -> list[Run]:
        return runs.listing(self.db, self.campaign.id, suites)

    def events(self) -> list[Event]:
        return campaigns.events(self.db, self.campaign.id)

    def searches(self) -> list[Search]:
        return findings.all_searches(self.db, self.campaign.id)
