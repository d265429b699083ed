// The registry of channels. A new channel needs a file in this folder, an entry and settings here, a value of the proto's enum Channel and
// one of GraphQL's ReminderChannel.
import type { Channel as ChannelMessage } from '../../../generated/reminders/v1/Channel.ts';
import type { EnvironmentReader } from '../../platform/process/config.ts';
import { enumName } from '../../platform/protobuf/enums.ts';
import type { Channel, FailureCause, MessageSettings, PushAddress } from './channel.ts';
import { createEmailChannel, type EmailSettings, readEmailSettings } from './email.ts';
import { createPushChannel, type PushSettings, readPushSettings } from './push.ts';

/** What the channels read from the environment. */
type ChannelSettings = EmailSettings & PushSettings;
/** With what they share. */
type ChannelConfig = ChannelSettings & MessageSettings;

export function readChannelSettings(reader: EnvironmentReader): ChannelSettings {
  return { ...readEmailSettings(reader), ...readPushSettings(reader) };
}

/** Stands for "no subscription" in a delivery's key. */
export const NO_SUBSCRIPTION = '00000000-0000-0000-0000-000000000000';

/** What is known of a user where deliveries are made. */
export type UserAddresses = { emailIsOn: boolean; subscriptionIds: readonly string[] };

/** What is left of an address when a delivery's turn comes. */
type Address = { emailIsOn: boolean; subscription: PushAddress | null };

type Kind = {
  /** undefined: not set up. */
  create(config: ChannelConfig): Channel | undefined;
  /** What it needs to be set up, said of the field `channel`. */
  needs: string;
  /** One delivery is made for each: a subscription, or NO_SUBSCRIPTION where there is a single address. */
  addresses(user: UserAddresses): readonly string[];
  /** Why there is none, said of the field `channel`. */
  withoutAddress: string;
  /** Why a delivery can no longer be sent, if its address was removed after it was made; undefined if it can. */
  unreachable(delivery: Address): { cause: FailureCause; failure: string } | undefined;
};

/** By the name that is stored; CHANNEL_ and the name in capitals is its value in the proto. Lists have them in this order. */
export const CHANNELS = {
  email: {
    create: createEmailChannel,
    needs: 'is not set up: e-mail needs SMTP_URL or MAIL_DIR.',
    addresses: ({ emailIsOn }) => (emailIsOn ? [NO_SUBSCRIPTION] : []),
    withoutAddress: 'is off: e-mail was switched off for this user.',
    unreachable: ({ emailIsOn }: Address) =>
      emailIsOn
        ? undefined
        : ({ cause: 'e-mail off', failure: 'E-mail was switched off before this was sent.' } as const),
  },
  push: {
    create: ({ vapidKeys, ...config }) => vapidKeys && createPushChannel({ ...config, vapidKeys }),
    needs: 'is not set up: push needs VAPID_KEYS.',
    addresses: ({ subscriptionIds }) => subscriptionIds,
    withoutAddress: 'has no push subscription.',
    unreachable: ({ subscription }: Address) =>
      subscription !== null
        ? undefined
        : ({
            cause: 'no subscription',
            failure: 'The push subscription was removed before this was sent.',
          } as const),
  },
} satisfies Record<string, Kind>;

export type ChannelName = keyof typeof CHANNELS;
export const CHANNEL_NAMES = Object.keys(CHANNELS) as readonly ChannelName[];
/** Those that are set up. */
export type Channels = { [Name in ChannelName]?: ReturnType<(typeof CHANNELS)[Name]['create']> };

export function createChannels(config: ChannelConfig): Channels {
  return Object.fromEntries(CHANNEL_NAMES.map((name) => [name, CHANNELS[name].create(config)]));
}

/** The proto's name of a channel. */
export const toChannelMessage = (name: ChannelName): ChannelMessage => enumName('CHANNEL', name);

/** undefined for what is no channel, such as CHANNEL_UNSPECIFIED. */
export function fromChannelMessage(message: string): ChannelName | undefined {
  return CHANNEL_NAMES.find((name) => toChannelMessage(name) === message);
}

/** Such as "CHANNEL_EMAIL or CHANNEL_PUSH", for errors. */
export const ANY_CHANNEL = CHANNEL_NAMES.map(toChannelMessage).join(' or ');
