"""Word lists of the frames. Names of public tools are facts; the lists and sentences were written for this project."""

WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten",
         12: "twelve", 15: "fifteen", 20: "twenty", 30: "thirty", 40: "forty", 50: "fifty", 60: "sixty", 90: "ninety"}

QUANTITIES = [(p, k) for k, names in {
    "time": "request timeout|session lifetime|idle timeout|log retention|backup interval|token expiry|polling interval|"
            "heartbeat interval|lock timeout|retention period|connection timeout|grace period|cache lifetime|refresh interval|"
            "debounce delay|health check interval|start-up deadline|review deadline|trial period",
    "size": "upload limit|heap size|memory limit|disk quota|maximum attachment size|buffer size|log file size|chunk size",
    "percent": "coverage threshold|sampling rate|error budget|alert threshold for disk usage|canary share|discount|CPU limit",
    "port": "port|listening port|metrics port|debug port",
    "connections": "connection pool size", "items": "page size", "records": "batch size", "retries": "retry count",
    "threads": "thread count", "messages": "queue depth", "characters": "maximum line length|minimum password length",
    "partitions": "number of partitions", "workers": "number of workers", "approvals": "number of approvals",
    "shards": "shard count", "requests per second": "rate limit", "replicas": "replica count", "lines": "maximum function length",
    "devices": "maximum number of devices per user", "entries": "history size",
}.items() for p in names.split("|")]

COUNTED = [("the cluster", "nodes"), ("the team", "engineers"), ("the menu", "entries"), ("the form", "fields"), ("the pipeline", "stages"),
           ("the ring", "replicas"), ("the wizard", "steps"), ("the quorum", "members"), ("the rack", "servers"), ("the release train", "releases"),
           ("the test suite", "jobs"), ("the dashboard", "panels"), ("the header", "bytes"), ("the plan", "seats"), ("the rota", "shifts")]

CHOICES = {k: v.split(",") for k, v in {
    "primary database": "PostgreSQL,MySQL,MariaDB,Oracle,MongoDB,CockroachDB,SQL Server,DynamoDB,Cassandra,SQLite",
    "message broker": "Kafka,RabbitMQ,NATS,SQS,Pulsar,ActiveMQ", "cache": "Redis,Memcached,Hazelcast,Varnish",
    "CI system": "GitHub Actions,Jenkins,GitLab CI,CircleCI,Buildkite,TeamCity", "cloud provider": "AWS,GCP,Azure,Hetzner,OVH",
    "package manager": "npm,pnpm,yarn,bun", "frontend framework": "React,Vue,Svelte,Angular,Ember",
    "infrastructure tool": "Terraform,Pulumi,CloudFormation,Ansible,Chef", "container platform": "Kubernetes,Nomad,ECS,OpenShift,Heroku",
    "web framework": "Django,Flask,FastAPI,Rails,Express,Spring Boot,Laravel,Axum", "test framework": "pytest,unittest,Jest,Vitest,RSpec,JUnit",
    "code formatter": "Black,Ruff,gofmt,Biome,dprint", "log format": "JSON,plain text,logfmt,XML", "API style": "REST,GraphQL,gRPC,SOAP",
    "authentication method": "OAuth 2,SAML,basic auth,API keys,mTLS,passkeys", "branching model": "trunk-based development,Gitflow,GitHub flow",
    "merge strategy": "squash,rebase,merge commits", "time zone": "UTC,local time,CET", "error tracker": "Sentry,Datadog,Rollbar,Bugsnag",
    "email provider": "SendGrid,Postmark,Mailgun,Amazon SES", "secret store": "Vault,AWS Secrets Manager,SOPS,Doppler",
    "licence": "MIT,Apache-2.0,GPL-3.0,BSD,MPL-2.0", "documentation language": "English,German,French,Spanish,Japanese",
    "programming language": "Rust,Go,Java,Python,Kotlin,TypeScript,Ruby,C#,Elixir", "password hash": "Argon2,bcrypt,scrypt,PBKDF2",
    "search engine": "Elasticsearch,OpenSearch,Meilisearch,Solr,Typesense", "accent colour": "blue,red,green,orange,purple,yellow",
    "owner": "the platform team,the data team,the product team,the security team,the mobile team,the design team",
    "release day": "Monday,Tuesday,Wednesday,Thursday,Friday,Sunday", "hosting region": "eu-west-1,us-east-1,ap-south-1,Frankfurt,Dublin,Singapore",
    "chat tool": "Slack,Teams,Mattermost,Discord,Zulip", "payment provider": "Stripe,Adyen,PayPal,Mollie",
    "monitoring stack": "Prometheus,Datadog,New Relic,Zabbix,CloudWatch", "object storage": "S3,MinIO,GCS,Azure Blob",
    "ORM": "SQLAlchemy,Prisma,Hibernate,Sequelize,Diesel", "build tool": "Gradle,Maven,Bazel,Make,webpack,Vite",
    "issue tracker": "Jira,Linear,GitHub Issues,Trello", "operating system": "Debian,Ubuntu,Alpine,Windows Server,Rocky Linux",
    "serialisation format": "Protobuf,Avro,JSON,MessagePack,XML", "compression": "gzip,zstd,brotli,lz4", "shell": "bash,zsh,fish,PowerShell",
    "default branch": "`main`,`master`,`develop`,`trunk`", "identity provider": "Okta,Auth0,Keycloak,Cognito",
    "deployment strategy": "blue-green,canary,rolling,recreate", "session storage": "Redis,cookies,the database,memory",
    "test double": "fakes,mocks,stubs", "config format": "YAML,TOML,JSON,INI", "font": "Inter,Roboto,Georgia", "currency": "euros,dollars,pounds",
    "id scheme": "UUIDs,ULIDs,sequential integers", "consistency model": "strong consistency,eventual consistency",
}.items()}

TASKS = {k: v.split(",") for k, v in {
    "load testing": "k6,Locust,JMeter,Gatling", "date handling": "dayjs,luxon,date-fns,moment", "HTTP mocking": "WireMock,nock,MSW",
    "browser tests": "Playwright,Selenium,Puppeteer,TestCafe", "background jobs": "Celery,Resque,Hangfire,Delayed Job",
    "scheduled tasks": "cron,Airflow,Quartz,Temporal", "form validation": "Zod,Yup,Joi,Formik", "state management": "Redux,MobX,Zustand,Pinia",
    "styling": "Tailwind,Sass,styled-components,Bootstrap", "charts": "D3,Chart.js,Highcharts", "database migrations": "Flyway,Liquibase,Alembic",
    "log shipping": "Fluentd,Logstash,Vector,Promtail", "tracing": "Jaeger,Zipkin,X-Ray", "dashboards": "Grafana,Kibana,Looker,Metabase",
    "release notes": "release-please,semantic-release,git-cliff", "dependency updates": "Dependabot,Renovate,Snyk",
    "code coverage": "Codecov,Coveralls,SonarQube", "secret scanning": "gitleaks,trufflehog", "single sign-on": "Keycloak,Okta,Devise,Azure AD",
    "file uploads": "S3,Azure Blob,Cloudinary,local disk", "text messages": "Twilio,Vonage,MessageBird", "PDF generation": "wkhtmltopdf,WeasyPrint,LaTeX",
    "API documentation": "OpenAPI,RAML,AsyncAPI", "type checking": "mypy,pyright,Flow", "assertions": "chai,AssertJ,Hamcrest",
    "configuration": "YAML files,TOML files,environment variables,a database table", "HTTP calls": "axios,fetch,requests,httpx",
    "error reporting": "Sentry,Rollbar,Honeybadger", "feature toggles": "LaunchDarkly,Unleash,Flipper", "deployments": "Argo CD,Flux,Spinnaker,Capistrano",
    "service discovery": "Consul,etcd,DNS,Eureka", "queues": "SQS,RabbitMQ,Kafka,NATS", "caching": "Redis,Memcached,Varnish",
    "unit tests": "JUnit,pytest,Jest,Vitest", "linting": "ESLint,Biome,Ruff,RuboCop", "formatting": "Black,rustfmt,gofmt,Biome",
    "package installs": "npm,pnpm,yarn,bun", "translations": "gettext,i18next,Fluent", "virtual environments": "Poetry,uv,pipenv,conda",
    "diagrams": "Mermaid,PlantUML,draw.io", "team chat": "Slack,Teams,Mattermost", "issue tracking": "Jira,Linear,GitHub Issues",
    "web analytics": "Matomo,Google Analytics,Plausible", "video calls": "Zoom,Jitsi,Meet", "schema validation": "JSON Schema,Zod,Avro",
    "parsing": "nom,ANTLR,tree-sitter,pest", "GUI code": "Qt,GTK,Electron,Tauri", "maps": "Leaflet,Mapbox,OpenLayers", "data pipelines": "Airflow,Dagster,dbt",
    "internal calls": "gRPC,REST,Thrift", "static pages": "Hugo,Jekyll,MkDocs", "component previews": "Storybook,Histoire,Ladle",
    "commit hooks": "husky,pre-commit,lefthook", "object mapping": "MapStruct,AutoMapper", "data access": "raw SQL,an ORM,stored procedures",
    "user research": "interviews,surveys,usability tests", "local development": "docker compose,Vagrant,Tilt,Nix", "backups": "restic,Borg,pg_dump",
    "persistence": "event sourcing,a relational database,flat files", "rendering": "server-side templates,a single-page app,static HTML",
}.items()}

ABOUT_TOOL = [
    "{x} runs in CI.", "The configuration of {x} lives in the repository root.", "Upgrade {x} to the latest release every month.",
    "Reports of {x} are kept for 30 days.", "{x} is pinned to a fixed version.", "New engineers get an introduction to {x}.",
    "{x} credentials are kept in the vault.", "Wrap {x} in a small helper module.", "Problems with {x} are reported to the platform team.",
    "{x} must be configured with a timeout.", "Only admins may change the settings of {x}.", "Document how we use {x} in the wiki.",
    "{x} is monitored by an alert.", "Do not edit the generated {x} files.", "Calls to {x} must not block the main thread.",
    "The licence of {x} is paid by the product team.", "Never store personal data in {x}.", "{x} needs 2 GB of memory."]

VERSIONED = """Python|Node.js|Java|Go|PostgreSQL|Terraform|Kubernetes|Ruby|React|TypeScript|.NET|OpenSSL|Rust|PHP|Django|Rails|Spring
Boot|Redis|Elasticsearch|Swift|Kotlin|Angular|nginx|Gradle|Debian|GCC""".replace("\n", " ").split("|")

THINGS = """variables|constants|class names|file names|test files|JSON keys|database columns|environment variables|branch names|CSS
classes|function names|private members|public methods|type parameters|modules|directories|table names|event names|query
parameters|header names|component names|feature flags|metric names|config keys|script names|package names|interface names|error
codes|tag names|topic names|commit messages|error messages|log lines|pull requests|tickets|functions|tests|API responses|config
files|release notes|endpoints|events|tokens|backups|builds|interfaces|comments|alerts|scripts|packages|sessions|identifiers|
reports|cookies|queries|requests|transactions|jobs|examples|headings|containers|meetings|branches|components|schemas|
secrets|dashboards|caches|plugins|archives|invoices|images|connections|threads|keys"""
THINGS = [" ".join(t.split()) for t in THINGS.split("|")]

STYLES = ["camelCase", "snake_case", "PascalCase", "kebab-case", "SCREAMING_SNAKE_CASE", "lower case", "upper case", "title case", "Hungarian notation"]

OPPOSED = [
    ("short", "long"), ("small", "large"), ("brief", "detailed"), ("synchronous", "asynchronous"), ("stateless", "stateful"),
    ("deterministic", "random"), ("signed", "unsigned"), ("encrypted", "stored in plain text"), ("public", "private"),
    ("mandatory", "optional"), ("sorted", "unsorted"), ("mutable", "immutable"), ("formal", "informal"), ("generic", "specific"),
    ("flat", "nested"), ("explicit", "implicit"), ("cached", "uncached"), ("versioned", "unversioned"), ("short-lived", "long-lived"),
    ("automatic", "manual"), ("blocking", "non-blocking"), ("shared", "isolated"), ("typed", "untyped"), ("compressed", "uncompressed"),
    ("written in English", "written in German"), ("in the present tense", "in the past tense"), ("generated", "written by hand"),
    ("focused on one thing", "a bundle of several things"), ("self-contained", "dependent on other parts"), ("kept", "thrown away"),
    ("paginated", "returned in one piece"), ("idempotent", "different on every call"), ("nullable", "never null"), ("reviewed", "left unreviewed"),
    ("anonymous", "tied to a person"), ("batched", "sent one by one"), ("committed", "kept out of git"), ("in one file", "spread over several files"),
    ("at the top of the file", "at the bottom of the file"), ("retried", "given up after the first failure"), ("reusable", "used once"),
    ("readable by everybody", "restricted to administrators"), ("enabled by default", "switched off by default"), ("unique", "repeated freely"),
    ("created on demand", "created in advance"), ("stored locally", "stored remotely"), ("singular", "plural"), ("documented", "undocumented"),
    ("visible to customers", "internal"), ("tested", "untested"), ("fixed in size", "allowed to grow"), ("loaded eagerly", "loaded lazily"),
    ("plain text", "binary"), ("centralised", "left to each team"), ("permanent", "temporary"), ("strict", "lenient"), ("pinned", "floating"),
]

PERIODS = [  # what holds in a period, and what goes against it
    ("the code freeze applies to {c}", "changes to {c} are merged as usual"), ("{c} is in maintenance mode", "{c} gets new features"),
    ("deployments of {c} are suspended", "{c} is deployed every day"), ("{c} is read-only", "users write to {c}"),
    ("support for {c} is closed", "support for {c} is on duty"), ("the discount applies to {c}", "{c} is sold at full price"),
    ("registration for {c} is open", "nobody can register for {c}"), ("{c} is free of charge", "{c} has to be paid for"),
    ("the budget for {c} is frozen", "money is spent on {c} freely"), ("{c} runs with two replicas", "{c} runs with five replicas"),
]

RIGHTS = ["merge to main", "deploy {c}", "delete records of {c}", "change the schema of {c}", "approve releases", "read the audit log",
          "export customer data", "restart {c}", "rotate keys", "edit the settings of {c}", "see salaries", "close tickets", "open incidents",
          "invite guests", "order hardware", "publish packages", "tag a release", "grant access to {c}", "speak to the press", "buy licences"]
"""What people may or may not do."""

QUALITIES = [("tested", "untested"), ("reviewed by two people", "reviewed by nobody"), ("written in Rust", "written in Go"), ("encrypted", "unencrypted"),
             ("covered by an alert", "not monitored"), ("deployed daily", "deployed once a month"), ("documented", "undocumented"),
             ("open source", "proprietary"), ("behind the gateway", "reachable directly"), ("backed up", "without a backup")]
"""A property of services and its opposite."""
