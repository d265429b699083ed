#!/bin/bash
# Runs once, when the cluster is made. Creates the role of the services, which may read and write the rows of all that the owner makes
# later, and cannot change a schema (docs/operations/database.md). The password is in no command line.
set -euo pipefail
login=${SERVICE_DATABASE_URL#*//}
login=${login%%@*}
SERVICE_ROLE=${login%%:*} SERVICE_PASSWORD=${login#*:} \
  psql --set=ON_ERROR_STOP=1 --quiet --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
\getenv role SERVICE_ROLE
\getenv password SERVICE_PASSWORD
CREATE ROLE :"role" LOGIN PASSWORD :'password';
ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO :"role";
ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO :"role";
ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO :"role";
SQL
