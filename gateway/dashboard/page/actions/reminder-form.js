// The settings of a reminder as fields of a form.
/** @import { Child, Reminder, ReminderChannel, User, Weekday } from '../types.d.ts' */
import { h } from '../dom.js';
import { checkboxes, choice, field } from '../fields.js';
import { labelsField, readLabels } from '../labels.js';
import { CHANNELS, WEEKDAYS } from '../reminder-words.js';

const NEW = {
  time: '09:00',
  weekdays: WEEKDAYS.map(([weekday]) => weekday),
  channels: ['EMAIL'],
  minDue: 1,
  labels: [],
  onlyIfNotReviewedToday: false,
};

/** @param {User} user @param {Reminder | undefined} reminder undefined: a new one @returns {Child} */
export function settingsFields({ timeZone }, reminder) {
  const { time, weekdays, channels, minDue, labels, onlyIfNotReviewedToday } = reminder ?? NEW;
  return [
    field(
      'Time',
      h('input', { type: 'time', name: 'time', value: time, required: true }),
      `In the time zone ${timeZone}`,
    ),
    checkboxes({
      legend: 'Days',
      name: 'weekday',
      chosen: weekdays,
      whenNone: 'Choose at least one day.',
      options: WEEKDAYS.map(([value, , text]) => [value, text]),
    }),
    checkboxes({
      legend: 'Channels',
      name: 'channel',
      chosen: channels,
      whenNone: 'Choose at least one channel.',
      options: Object.entries(CHANNELS),
    }),
    field(
      'Minimum due',
      h('input', { type: 'number', name: 'minDue', value: minDue, min: '1', max: '1000', required: true }),
      'Nothing is sent if fewer reviews are due.',
    ),
    labelsField(
      labels,
      'Only materials with one of these, or one below it, count as due. Without any, all do.',
    ),
    choice('Only if not reviewed today', { name: 'onlyIfNotReviewedToday', checked: onlyIfNotReviewedToday }),
  ];
}

/** The settings that were entered. @param {FormData} data */
export function readSettings(data) {
  return {
    time: String(data.get('time')).slice(0, 5),
    // The values of the checkboxes above.
    weekdays: /** @type {Weekday[]} */ (data.getAll('weekday')),
    channels: /** @type {ReminderChannel[]} */ (data.getAll('channel')),
    minDue: Number(data.get('minDue')),
    labels: readLabels(data),
    onlyIfNotReviewedToday: data.has('onlyIfNotReviewedToday'),
  };
}
