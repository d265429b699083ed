// The page around GraphiQL: shares the login with the dashboard, sends the token with each query, offers examples.
/* global React, ReactDOM, GraphiQL */
import { session } from './session.js';

const form = document.getElementById('access');
const field = document.getElementById('token');
const state = document.getElementById('state');

const EXAMPLES = [
  `# A learner at a glance: what is due, how it goes, and the hardest materials.
query LearnerAtAGlance($email: String = "demo@example.com") {
  user(email: $email) {
    email
    plan
    timeZone
    dueMaterials(first: 10) { nodes { id title nextReview } }
    stats(days: 30) {
      forecast { overdue dueNow days { date count } }
      activity { currentStreakDays longestStreakDays }
      retention { total { reviews recalled retention } }
      hardestMaterials(first: 5) { nodes { material { title } count { reviews retention } } }
    }
  }
}
`,
  `# A page of users with what is due for each. Go on with after: pageInfo.endCursor.
query WhoHasWhatDue($after: String) {
  users(first: 20, after: $after) {
    nodes { email dueMaterials(first: 5) { nodes { title nextReview } } }
    pageInfo { hasNextPage endCursor }
  }
}
`,
  `# Materials with their latest reviews, and what each grade would do to them now.
query HistoriesAndPreviews($email: String = "demo@example.com") {
  user(email: $email) {
    materials(first: 5) {
      nodes {
        title ef interval repetitions nextReview
        reviews(first: 3) { nodes { reviewedAt quality after { interval } } }
        previews { quality schedule { interval nextReview } }
      }
    }
  }
}
`,
  `# Changes something: needs a token with the role operator. Every mutation is written to the audit log.
# Put the user's and the material's IDs into the variables below.
mutation SnoozeUntilTomorrow($userId: ID!, $materialId: ID!) {
  snoozeMaterials(input: { userId: $userId, materialIds: [$materialId], preset: TOMORROW, reason: "asked by mail" }) {
    snooze { snoozeUntil }
  }
}
`,
];

function show() {
  state.textContent = session.token()
    ? 'The token is in use until the last tab is closed.'
    : 'Queries need a token. Log in to the dashboard, or paste one: "npm start" prints its token, or the file that has it.';
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (field.value.trim() === '') session.end();
  else session.use(field.value.trim());
  // Recreated, so that GraphiQL reloads the schema with the token.
  location.reload();
});

async function fetcher({ operationName, ...parameters }) {
  // Right after a tab change GraphiQL still sends the previous tab's operation name.
  const isNamed = operationName && parameters.query.includes(operationName);
  const token = session.token();
  const answer = await fetch('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ ...parameters, ...(isNamed && { operationName }) }),
  });
  if (answer.status === 200) session.accept();
  if (answer.status === 401 && token) {
    session.forget();
    state.textContent = 'This token is not valid, or no longer valid: paste another one.';
  }
  return answer.json();
}

await session.found;
show();
session.on('logout', show);
const root = ReactDOM.createRoot(document.getElementById('graphiql'));
let logins = 0;
function render() {
  const options = {
    fetcher,
    defaultTabs: EXAMPLES.map((query) => ({ query })),
    shouldPersistHeaders: false,
    isHeadersEditorEnabled: false,
    storage: sessionStorage,
  };
  root.render(React.createElement(GraphiQL, { key: logins, ...options }));
}
render();
session.on('login', () => {
  show();
  // Anew, so that GraphiQL loads the schema with the token.
  logins += 1;
  render();
});
