// Sends a test reminder and shows what becomes of it.
/** @import { Context, Delivery, PushSubscriptionRow, ReminderChannel, User } from '../types.d.ts' */
import { request } from '../api.js';
import { h, paragraphs } from '../dom.js';
import { addressOf, CHANNELS, outcomeOf } from '../reminder-words.js';
import { explain } from '../ui.js';
import { showMessage } from './dialog.js';

/** When to ask again: over 30 s, in which a mail server that works has long answered. */
const WAITS_MS = [500, 500, 1000, 1000, 2000, 2000, 3000, 5000, 5000, 5000, 5000];

/**
 * @param {Context} context
 * @param {User} user
 * @param {ReminderChannel} channel
 * @param {readonly PushSubscriptionRow[]} subscriptions Those that the page shows.
 */
export async function sendTest(context, user, channel, subscriptions) {
  const shown = h('div', { role: 'status' }, 'Sending …');
  const dialog = showMessage(`Test by ${CHANNELS[channel]}`, shown);
  try {
    const { sendTestReminder } = await request('SEND_TEST', { input: { userId: user.id, channel } });
    await follow(sendTestReminder.deliveries, user, (deliveries) => {
      const lines = deliveries.map((delivery) => {
        // The learner may have registered another one since the page was loaded.
        const address = addressOf(delivery, subscriptions, 'a new browser');
        return `${address}: ${outcomeOf(delivery, { reminder: undefined, timeZone: user.timeZone })}`;
      });
      shown.replaceChildren(...paragraphs(lines));
      return dialog.isConnected;
    });
  } catch (error) {
    shown.replaceChildren(h('p', { class: 'problem' }, explain(error)));
  }
  await context.refresh();
}

/**
 * Shows the deliveries and reads them again until none is pending, `show` returns false, or it took too long.
 * @param {readonly Delivery[]} deliveries
 * @param {User} user
 * @param {(deliveries: readonly Delivery[]) => boolean} show
 */
async function follow(deliveries, user, show) {
  const ids = new Set(deliveries.map(({ id }) => id));
  let latest = deliveries;
  for (const waitMs of WAITS_MS) {
    const mayGoOn = show(latest) && latest.some(({ state }) => state === 'PENDING');
    if (!mayGoOn) return;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    const { user: found } = await request('LATEST_DELIVERIES', { id: user.id });
    latest = found?.reminderDeliveries.nodes.filter(({ id }) => ids.has(id)) ?? [];
  }
  show(latest);
}
