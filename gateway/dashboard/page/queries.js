// All GraphQL documents of the page. `npm run generate` makes their types.

const USER = 'id email firstName lastName plan timeZone createdAt sandbox';
const COUNT = 'count { reviews recalled retention }';
const ROW = 'id title type labels isDue isLeech lastReviewed archivedAt ef interval nextReview';
const KEY = 'id name prefix scopes createdAt lastUsedAt revokedAt lastRefusedAt expiresAt allowedAddresses';
const PAGE = 'pageInfo { hasNextPage endCursor }';
const REMINDER =
  'id time weekdays channels minDue labels onlyIfNotReviewedToday pausedUntil enabled nextAt updatedAt';
const DELIVERY =
  'id reminderId localDate channel pushSubscriptionId state skipReason failure dueAt updatedAt attempts isTest keptMessage { subject text }';
const EVENT = `at action actor requestId subjectIds fields apiKey { id name } apiKeys { id name }
        material { id title archivedAt revision }
        review { id quality reviewedAt undoneAt madeLeech revision after { interval } }
        snooze { id snoozeUntil reason cancelledAt cancellableMaterials movedMaterials materialCount spreadDays }
        delivery { ${DELIVERY} }`;
const REVIEWS = `nodes { quality reviewedAt undoneAt before { interval } after { ef interval nextReview } } ${PAGE}`;

export const DOCUMENTS = {
  CALLER: '{ caller { name role } }',
  SEARCH: `query Search($text: String!) {
  search(text: $text) {
    user { id email firstName lastName timeZone sandbox } apiKey { id name prefix revokedAt expiresAt } material { id title }
    event { kind action at } refused { at route status field }
  }
}`,
  HOME: `query Home {
  overview {
    asOf learners activeWeek activeWeekBefore activeMonth activeMonthBefore due overdue backlogGrowing streakBroken
    wentQuiet
    days { date learners reviews recalled due }
    bestPredictors { asOf counts { predictor learners } }
  }
}`,
  LEARNERS: `query Learners($after: String, $order: LearnerOrder, $filter: LearnerFilter) {
  learners(first: 25, after: $after, order: $order, filter: $filter) {
    nodes {
      userId user { email sandbox } month { reviews retention } monthBefore { reviews }
      lastReviewOn streakDays brokenStreakDays due overdue dueBefore
    }
    ${PAGE}
  }
}`,
  REFUSED_KEYS: `query RefusedKeys($first: Int = 25, $after: String) {
  list: refusedApiKeys(first: $first, after: $after) {
    totalCount ${PAGE}
    nodes { apiKey { id name prefix revokedAt expiresAt lastRefusedAt refusedMinutes } user { id email sandbox } }
  }
}`,
  EXPIRING_KEYS: `query ExpiringKeys($first: Int = 25, $after: String) {
  list: expiringApiKeys(first: $first, after: $after) {
    totalCount ${PAGE}
    nodes { apiKey { id name prefix expiresAt lastUsedAt } user { id email sandbox } }
  }
}`,
  EMAIL_OFF: `query EmailOff($first: Int = 25, $after: String) {
  list: emailOffUsers(first: $first, after: $after) {
    totalCount ${PAGE}
    nodes { userId user { email sandbox } emailReminders { offReason offAt } }
  }
}`,
  AUDIT: `query Audit($actor: String, $action: String, $since: DateTime, $until: DateTime, $after: String) {
  list: audit(first: 25, actor: $actor, action: $action, since: $since, until: $until, after: $after) {
    nodes { userId user { id email timeZone sandbox } event { ${EVENT} } } ${PAGE}
  }
}`,
  USERS: `query Users($after: String) { list: users(first: 25, after: $after) { nodes { ${USER} } ${PAGE} } }`,

  // $both: twice $days, so that its first half is the period before.
  OVERVIEW: `query Overview($id: ID!, $days: Int!, $both: Int!) {
  user(id: $id) {
    id
    window: stats(days: $days) {
      forecast { overdue dueNow days { date count } }
      retention { bands { band ${COUNT} } }
      distributions { easeFactors { ef count } intervals { band count } }
      hardestMaterials(first: 5) { nodes { material { id title } ${COUNT} } }
    }
    materialCounts { leeches archived }
    both: stats(days: $both) {
      retention { bands { band ${COUNT} } days { date ${COUNT} } }
    }
    year: stats(days: 365) {
      activity { days { date count } currentStreakDays longestStreakDays }
    }
  }
}`,
  PREDICTION: `query Prediction($id: ID!) {
  user(id: $id) {
    stats {
      prediction {
        reviews best recallWhenSm2Asks trainedAt trainedReviews
        recallNow { materials recalled }
        scores { predictor logLoss logLossHigh rmseBins auc beatsAverage bins { reviews recalled meanPrediction } }
      }
    }
  }
}`,
  DAY: `query Day($id: ID!, $date: Date!, $after: String) {
  user(id: $id) {
    reviews(first: 50, date: $date, after: $after) {
      nodes { quality reviewedAt undoneAt materialId material { title } before { interval } after { interval } } ${PAGE}
    }
  }
}`,
  MATERIALS: `query Materials(
  $id: ID!, $after: String, $query: String, $state: MaterialState, $type: MaterialType, $due: Boolean,
  $order: MaterialOrder, $leeches: Boolean, $labels: [String!]
) {
  user(id: $id) {
    materialCounts { active due archived leeches }
    materials(
      first: 25, after: $after, query: $query, state: $state, type: $type, due: $due, order: $order, leeches: $leeches,
      labels: $labels
    ) {
      nodes { ${ROW} } ${PAGE}
    }
  }
}`,
  LABELS: 'query Labels($id: ID!) { user(id: $id) { labels { label active due } } }',
  MATERIAL: `query Material($userId: ID!, $id: ID!) {
  material(userId: $userId, id: $id) {
    ${ROW} repetitions lapses content sourceUrl createdAt updatedAt revision
    reviews(first: 100) { ${REVIEWS} }
    snoozes(first: 50) { nodes { snoozeUntil reason createdAt cancelledAt movedMaterials materialCount spreadDays } ${PAGE} }
    previews { quality schedule { ef interval } }
  }
}`,
  OLDER_REVIEWS: `query OlderReviews($userId: ID!, $id: ID!, $after: String) {
  material(userId: $userId, id: $id) { reviews(first: 100, after: $after) { ${REVIEWS} } }
}`,
  KEYS: `query Keys($id: ID!, $after: String) {
  user(id: $id) { apiKeys(first: 25, after: $after) { nodes { ${KEY} } ${PAGE} } }
}`,
  KEY: `query Key($id: ID!, $apiKeyId: ID!) {
  user(id: $id) {
    apiKey(id: $apiKeyId) {
      ${KEY}
      requests { counts { date route status requests } refused { at route status field requestId } }
    }
  }
}`,
  // The clock is null for a learner who is not sandbox: then scheduling is not asked.
  USER: `query User($id: ID!) { user(id: $id) { ${USER} testClock { now } } }`,
  SETTINGS: `query Settings($id: ID!) {
  user(id: $id) { settings { scheduler desiredRetention timeZone parameters trainedAt version leechLapses } } }`,
  SETTINGS_PREVIEW: `query SettingsPreview(
  $id: ID!, $scheduler: Scheduler, $desiredRetention: Float, $parameters: FsrsParameters
) {
  user(id: $id) {
    settingsPreview(scheduler: $scheduler, desiredRetention: $desiredRetention, parameters: $parameters) {
      before { reviewsPerDay recall } after { reviewsPerDay recall }
    }
  }
}`,
  REMINDERS: `query Reminders($id: ID!, $after: String) {
  pushPublicKey
  user(id: $id) {
    reminders { ${REMINDER} }
    emailReminders { enabled offReason offAt }
    pushSubscriptions { id host createdAt }
    calendarFeed { createdAt }
    reminderDeliveries(first: 20, after: $after) { nodes { ${DELIVERY} } ${PAGE} }
  }
}`,
  // A test makes at most ten deliveries, one for each push subscription.
  LATEST_DELIVERIES: `query LatestDeliveries($id: ID!) {
  user(id: $id) { reminderDeliveries(first: 20) { nodes { ${DELIVERY} } } }
}`,
  TIMELINE: `query Timeline($id: ID!, $kinds: [TimelineKind!], $after: String) {
  user(id: $id) {
    timeline(first: 50, kinds: $kinds, after: $after) {
      nodes {
        ${EVENT}
      }
      missing { kind requestId }
      ${PAGE}
    }
  }
}`,
  CREATE_USER: mutation('createUser', 'user { id email }'),
  UPDATE_USER: mutation('updateUser', 'user { id }'),
  DELETE_USER: mutation('deleteUser', 'apiKeys materials reviews'),
  SET_CLOCK: mutation('setTestClock', 'testClock { now }'),
  UPDATE_SETTINGS: mutation('updateLearnerSettings', 'settings { version }'),
  ARCHIVE: mutation('archiveMaterial', 'material { id }', 'MaterialInput'),
  RESTORE: mutation('restoreMaterial', 'material { id }', 'MaterialInput'),
  UPDATE_MATERIAL: mutation('updateMaterial', 'material { id }'),
  SNOOZE: mutation('snoozeMaterials', 'snooze { snoozeUntil materials { id nextReview } }'),
  UNDO_REVIEW: mutation('undoReview', 'material { nextReview }'),
  SPREAD_BACKLOG: mutation(
    'spreadBacklog',
    'snooze { materialCount spreadDays } days { date dueBefore dueAfter } left',
  ),
  CANCEL_SNOOZE: mutation('cancelSnooze', 'materialIds'),
  CREATE_KEY: mutation('createApiKey', 'key apiKey { name scopes }'),
  ROTATE_KEY: mutation('rotateApiKey', 'key apiKey { name scopes }'),
  REVOKE_KEY: mutation('revokeApiKey', 'apiKey { id }'),
  CREATE_REMINDER: mutation('createReminder', 'reminder { id }'),
  UPDATE_REMINDER: mutation('updateReminder', 'reminder { id }'),
  DELETE_REMINDER: mutation('deleteReminder', 'reminderId'),
  SET_EMAIL: mutation('setEmailReminders', 'emailReminders { enabled }'),
  SWITCH_REFUSED_ON: mutation('switchRefusedEmailOn', 'userIds hasMore'),
  DELETE_PUSH: mutation('deletePushSubscription', 'subscriptionId'),
  CREATE_FEED: mutation('createCalendarFeed', 'url', 'CalendarFeedInput'),
  DELETE_FEED: mutation('deleteCalendarFeed', 'deleted', 'CalendarFeedInput'),
  SEND_TEST: mutation('sendTestReminder', `deliveries { ${DELIVERY} }`),
};

/** The document of a mutation. @param {string} field @param {string} answer What it asks for. @param {string} [input] The type of its input. */
function mutation(field, answer, input) {
  const name = field.charAt(0).toUpperCase() + field.slice(1);
  return `mutation ${name}($input: ${input ?? `${name}Input`}!) { ${field}(input: $input) { ${answer} } }`;
}
