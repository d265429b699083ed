// Written by npm run generate from docs/openapi.json.

export type CreateMaterialRequest = {
title: string;
/** Body text. */
content?: string;
/** A URI with a scheme. */
sourceUrl?: string;
/** Without it: simple. */
type?: "simple" | "material" | "flashcard" | "card";
};

export type Error = {
code: "unauthorized" | "insufficient_scope" | "invalid_request" | "rate_limited" | "not_found" | "invalid_scope" | "internal_error" | "unavailable";
/** For people. */
message: string;
details?: {
/** The field at fault (invalid_request). */
field?: string;
requiredScopes?: Array<Scope>;
};
};

export type ErrorResponse = {
error: Error;
};

export type Material = {
/** Identifier. */
id: string;
title: string;
/** Body text. */
content: string | null;
/** Where it comes from. */
sourceUrl: string | null;
type: "simple" | "material" | "flashcard" | "card";
/** Ease factor of SM-2, a whole number of hundredths, 1.3 or more; 2.5 at first. */
ef: number;
/** Days between the latest review and the next; 0 before the first. */
interval: number;
/** Reviews in a row graded 3 or better. */
repetitions: number;
/** When it is next due; null: now. */
nextReview: string | null;
/** When it was last reviewed; null: never. */
lastReviewed: string | null;
/** When it was created. */
createdAt: string;
/** When it last changed: by a review, a snooze or an edit. */
updatedAt: string;
};

/** The new material. */
export type MaterialResponse = {
material: Material;
};

/** At most limit materials. */
export type MaterialsResponse = {
materials: Array<Material>;
};

/** The account and the key. */
export type MeResponse = {
/** Identifier of the user. */
id: string;
email: string;
/** First name. */
firstName: string | null;
/** Last name. */
lastName: string | null;
plan: "free" | "premium";
/** Identifier of the key used for this call. */
apiKeyId: string;
scopes: Array<Scope>;
};

export type Review = {
/** Recall: 0 total blackout, 3 correct with effort, 5 immediate and confident. */
quality: number;
/** When the review was made. */
reviewedAt: string;
/** nextReview as it was before. */
previousDueAt: string | null;
};

export type ReviewRequest = {
/** Recall: 0 total blackout, 3 correct with effort, 5 immediate and confident. */
quality: number;
};

/** The material after rescheduling, and the review. */
export type ReviewResponse = {
material: Material;
review: Review;
};

export type Scope = "materials:read" | "materials:write" | "reviews:read" | "reviews:write" | "snooze:write" | "profile:read";

export type Snooze = {
/** Identifier. */
id: string;
materialIds: Array<string>;
/** Until when. */
snoozeUntil: string;
/** Empty where none was given. */
reason: string;
/** When the snooze was made. */
createdAt: string;
};

export type SnoozeRequest = {
/** A later instant, with an offset; it wins over preset. */
snoozeUntil?: string;
/** 1h: in 3,600 seconds; tonight: the next 20:00; tomorrow: 09:00 of the next day, on the account’s clock. */
preset?: "1h" | "tomorrow" | "tonight";
/** Free text. */
reason?: string;
} & ({
/** A later instant, with an offset; it wins over preset. */
snoozeUntil: string;
} | {
/** 1h: in 3,600 seconds; tonight: the next 20:00; tomorrow: 09:00 of the next day, on the account’s clock. */
preset: "1h" | "tomorrow" | "tonight";
});

/** The snooze. */
export type SnoozeResponse = {
snooze: Snooze;
};
