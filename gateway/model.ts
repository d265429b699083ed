// What the resolvers of a type start from: messages of the services, with the owner that materials and the like lack.
import type { ApiKey } from '../generated/accounts/v1/ApiKey.ts';
import type { User } from '../generated/accounts/v1/User.ts';
import type { Material } from '../generated/scheduling/v1/Material.ts';
import type { RetentionCount } from '../generated/scheduling/v1/RetentionCount.ts';
import type { Review } from '../generated/scheduling/v1/Review.ts';
import type { Snooze } from '../generated/scheduling/v1/Snooze.ts';
import type { StatsWindowInput } from '../generated/scheduling/v1/StatsWindow.ts';

export type UserNode = User;
export type ApiKeyNode = ApiKey;
export type MaterialNode = { userId: string; message: Material };
export type ReviewNode = { userId: string; message: Review };
export type SnoozeNode = { userId: string; message: Snooze };
export type HardMaterialNode = { material: MaterialNode; count: RetentionCount };
export type StatsNode = { userId: string; window: StatsWindowInput };
