// Messages to sandbox users, who are sent nothing: each is kept as it would have been sent.
import { ServiceError } from '../../platform/errors.ts';
import { CHANNELS, type Channels } from '../channels/registry.ts';
import type { Account, Peers } from '../peers.ts';
import { decide, type LeasedDelivery } from './decide.ts';
import type { Delivery } from './delivery.ts';
import { messageOf } from './message.ts';

export type KeepOptions = { peers: Peers; channels: Channels; publicUrl: string };

/** Decides new deliveries of one occurrence or test as of their due time. @throws UNAVAILABLE if what is due cannot be counted. */
export async function keepMessages(
  { peers, channels, publicUrl }: KeepOptions,
  deliveries: readonly Delivery[],
  recipient: { account: Account } & Pick<LeasedDelivery, 'reminder' | 'unsubscribeToken'>,
): Promise<Delivery[]> {
  const [first] = deliveries;
  // All of an occurrence are skipped, or none is.
  if (first?.state !== 'pending') return [...deliveries];
  const { account, reminder } = recipient;
  const time = first.dueTime;
  const due = (await peers.countDue([account], time, reminder?.labels ?? [])).get(account.userId);
  if (due === undefined) throw new ServiceError('UNAVAILABLE', { message: 'What is due cannot be counted.' });
  return deliveries.map((made) => {
    const delivery = { ...made, ...recipient };
    const decided = decide({ ...delivery, mailsBefore: 0 }, { isKnown: true, due }, time);
    if (decided !== 'send') return { ...made, skipReason: null, ...decided };
    const channel = channels[made.channel];
    if (channel === undefined)
      return { ...made, state: 'failed', failure: `The channel ${CHANNELS[made.channel].needs}` };
    const { subject, text } = channel.textOf(messageOf(delivery, { account, due }, { publicUrl, time }));
    return { ...made, state: 'kept', keptSubject: subject, keptText: text };
  });
}
