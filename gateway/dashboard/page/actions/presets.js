// The snooze presets: their words and their instants. Apart from the page's parts that need a browser, as a test holds them to
// scheduling.
/** @import { SnoozePreset, User } from '../types.d.ts' */
import { instantOf, nextDay, nowOf, tomorrowOf } from '../format.js';

/** `instantMs`: were it chosen now. @type {Readonly<Record<SnoozePreset, { words: string, instantMs: (user: User) => number }>>} */
export const PRESETS = {
  ONE_HOUR: { words: 'For 1 hour', instantMs: (user) => nowOf(user) + 3_600_000 },
  TONIGHT: {
    words: 'Until tonight, 20:00',
    instantMs(user) {
      const { timeZone } = user;
      const tomorrow = tomorrowOf(user);
      const tonight = instantOf(`${nextDay(tomorrow, -1)}T20:00`, timeZone).getTime();
      return tonight > nowOf(user) ? tonight : instantOf(`${tomorrow}T20:00`, timeZone).getTime();
    },
  },
  TOMORROW: {
    words: 'Until tomorrow, 09:00',
    instantMs: (user) => instantOf(`${tomorrowOf(user)}T09:00`, user.timeZone).getTime(),
  },
};
