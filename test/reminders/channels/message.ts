// A reminder as the worker hands it to a channel.
import type { ReminderMessage } from '../../../services/reminders/channels/channel.ts';

export const message = (fields: Partial<ReminderMessage> = {}): ReminderMessage => ({
  deliveryId: '0198c0de-0000-7000-8000-000000000001',
  firstName: 'Ada',
  dueCount: 7,
  titles: ['Photosynthesis', 'Mitosis'],
  unsubscribeUrl: 'https://reminders.example.com/unsubscribe/token-of-ada',
  isTest: false,
  schedule: { minuteOfDay: 12 * 60, weekdays: [1, 2, 3, 4, 5], timeZone: 'Europe/Berlin' },
  expireTime: new Date('2030-03-31T12:00:00Z'),
  sendTime: new Date('2030-03-31T10:00:00Z'),
  ...fields,
});
