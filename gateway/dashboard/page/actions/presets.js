// The snooze presets in words. Apart from the page's parts that need a browser, as a test holds them to scheduling.
/** @import { SnoozePreset } from '../types.d.ts' */

/** @type {Readonly<Record<SnoozePreset, string>>} */
export const PRESETS = {
  ONE_HOUR: 'For 1 hour',
  TONIGHT: 'Until tonight, 20:00 (from then on: tomorrow, 20:00)',
  TOMORROW: 'Until tomorrow, 09:00',
};
