// The snooze presets in words. This file needs no browser, so that a test can compare them with scheduling.
/** @import { SnoozePreset } from '../types.d.ts' */

/** @type {Readonly<Record<SnoozePreset, string>>} */
export const PRESETS = {
  ONE_HOUR: 'For 1 hour',
  TONIGHT: 'Until tonight, 20:00 (from then on: tomorrow, 20:00)',
  TOMORROW: 'Until tomorrow, 09:00',
};
