"""Prints when wall-clock times take place, as Python's zoneinfo has it: the oracle of next-occurrence.test.ts.

Usage: occurrences.py FIRST_YEAR LAST_YEAR SAMPLE_DAYS REACH MINUTE...
Takes every zone, every SAMPLE_DAYS-th day and all days up to REACH days from a change of clocks. Prints one line for a
zone and date: both, then for each minute of the day the seconds since 1970, or "-" for a date that does not exist.
"""
import sys
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

DAY = timedelta(days=1)


def exists(zone, day):
    """Whether any instant has this local date."""
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=timezone.utc)
    return any((noon + timedelta(hours=h)).astimezone(zone).date() == day for h in range(-30, 31))


def gap_end(zone, wall):
    """The first second whose wall clock is past the gap that `wall` lies in."""
    low = int((wall.replace(tzinfo=timezone.utc) - 2 * DAY).timestamp())
    high = low + 4 * 86400
    naive = lambda at: datetime.fromtimestamp(at, zone).replace(tzinfo=None)
    while low < high:
        middle = (low + high) // 2
        if naive(middle) < wall:
            low = middle + 1
        else:
            high = middle
    return low


def instant(zone, day, minute):
    wall = datetime(day.year, day.month, day.day, minute // 60, minute % 60)
    at = int(wall.replace(tzinfo=zone, fold=0).timestamp())
    if datetime.fromtimestamp(at, zone).replace(tzinfo=None) == wall:
        return str(at)
    return str(gap_end(zone, wall)) if exists(zone, day) else "-"


def days_of(zone, first, last, sample, reach):
    """Sampled days, and those near a change of the offset."""
    days, day, offset = set(), first, None
    while day <= last:
        now = datetime(day.year, day.month, day.day, tzinfo=timezone.utc).astimezone(zone).utcoffset()
        if offset is not None and now != offset:
            days.update(day + n * DAY for n in range(-reach - 1, reach + 1))
        if (day - first).days % sample == 0:
            days.add(day)
        offset, day = now, day + DAY
    return sorted(days)


def main():
    first_year, last_year, sample, reach, *minutes = map(int, sys.argv[1:])
    for name in sorted(available_timezones()):
        zone = ZoneInfo(name)
        for day in days_of(zone, date(first_year, 1, 1), date(last_year, 12, 31), sample, reach):
            print(name, day, *(instant(zone, day, minute) for minute in minutes))


main()
