/** Setups that are broken by a variable of the environment. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { env, put, type Setup } from './_broken-setup.ts'

const makeCertificate = (dir: string, days: string, ...more: string[]) => {
  mkdirSync(dir, { recursive: true })
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj /CN=localhost -days ${days}`
  const options = more.length > 0 ? more : ['-nodes']
  execFileSync('openssl', [...words.split(' '), ...options, '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  })
  return { AGENT_WEBUI_TLS_CERT: cert, AGENT_WEBUI_TLS_KEY: key }
}

export const ENVIRONMENT: readonly Setup[] = [
  {
    name: 'the TLS files do not exist',
    make: env({ AGENT_WEBUI_TLS_CERT: '/nope/c.pem', AGENT_WEBUI_TLS_KEY: '/nope/k.pem' }),
    start: 1,
    doctor: ['fail certificate certificate_unusable'],
  },
  {
    name: 'the certificate is no certificate',
    make: ({ root }) => {
      const pem = join(root, 'bad.pem')
      put(pem, 'not a certificate')
      return { env: { AGENT_WEBUI_TLS_CERT: pem, AGENT_WEBUI_TLS_KEY: pem } }
    },
    start: 1,
    doctor: ['fail certificate certificate_unusable'],
  },
  {
    name: 'the TLS key is no key',
    make: ({ root }) => {
      const { AGENT_WEBUI_TLS_CERT: cert } = makeCertificate(root, '90')
      return { env: { AGENT_WEBUI_TLS_CERT: cert, AGENT_WEBUI_TLS_KEY: cert } }
    },
    start: 1,
    doctor: ['fail certificate certificate_unusable'],
  },
  {
    name: 'the TLS key has a passphrase',
    make: ({ root }) => ({ env: makeCertificate(root, '90', '-passout', 'pass:abcd') }),
    start: 1,
    doctor: ['fail certificate certificate_unusable'],
  },
  {
    name: 'certificate and key do not belong together',
    make: ({ root }) => {
      const { AGENT_WEBUI_TLS_KEY } = makeCertificate(join(root, 'other'), '30')
      return { env: { ...makeCertificate(root, '30'), AGENT_WEBUI_TLS_KEY } }
    },
    start: 1,
    doctor: ['fail certificate certificate_unusable'],
  },
  {
    name: 'the certificate expires soon',
    make: ({ root }) => ({ env: makeCertificate(root, '3') }),
    doctor: ['warn certificate certificate_expires'],
  },
  {
    name: 'the certificate has expired',
    make: ({ root }) => ({
      env: makeCertificate(root, '3'),
      machine: { clock: { now: () => Date.now() + 9 * 86_400_000 } },
    }),
    doctor: ['warn certificate certificate_expired'],
  },
  {
    name: 'only one TLS file is set',
    make: env({ AGENT_WEBUI_TLS_CERT: '/nope/c.pem' }),
    start: 78,
    doctor: ['fail environment environment_invalid'],
  },
  {
    name: 'a variable is misspelled',
    make: env({ AGENT_WEBUI_PASWORD: 'x' }),
    start: 78,
    doctor: ['fail environment environment_invalid'],
  },
  {
    name: 'the proxy is no address, which may have a password',
    make: env({ https_proxy: 'ftp://me:secret@proxy' }),
    start: 78,
    doctor: ['fail environment environment_invalid'],
  },
  {
    name: 'a proxy without a scheme is one over HTTP',
    make: env({ HTTP_PROXY: '127.0.0.1:3128', no_proxy: '*' }),
  },
  {
    name: 'the directory of temporary files does not exist',
    make: env({ TMPDIR: '/nope' }),
    doctor: ['warn temporary files temporary_files_unusable'],
  },
  {
    name: 'the port is no port',
    make: env({ AGENT_WEBUI_PORT: '99999' }),
    start: 78,
    doctor: ['fail environment environment_invalid'],
  },
  {
    name: 'the format of the log is unknown',
    make: env({ AGENT_WEBUI_LOG: 'xml' }),
    start: 78,
    doctor: ['fail environment environment_invalid'],
  },
  {
    name: 'the token of the metrics is short',
    make: env({ AGENT_WEBUI_METRICS_TOKEN: 'abc' }),
    start: 78,
    doctor: ['fail environment environment_invalid'],
  },
  {
    name: 'traces are to be sent with gRPC',
    make: env({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    }),
    start: 78,
    doctor: ['fail traces traces_invalid'],
  },
  {
    name: 'the machine does not have the address',
    make: env({ AGENT_WEBUI_HOST: '203.0.113.9' }),
    start: 1,
    doctor: ['fail address address_unusable', 'warn password password_missing'],
  },
  {
    name: 'the password is too long',
    make: env({ AGENT_WEBUI_PASSWORD: 'x'.repeat(2_000) }),
    start: 78,
    doctor: ['fail password password_invalid'],
  },
  {
    name: 'the default workspace does not exist',
    make: env({ AGENT_WEBUI_DEFAULT_WORKSPACE: '/nope/work' }),
    doctor: ['fail workspace workspace_unusable'],
  },
  ...['/api', '/session/x', '/login', '/static/'].map(path => ({
    name: `the base path ${path} begins like one of the server's own`,
    make: env({ AGENT_WEBUI_BASE_PATH: path }),
    start: 78 as const,
    doctor: ['fail base path base_path_taken'],
  })),
  {
    name: 'the base path is no path',
    make: env({ AGENT_WEBUI_BASE_PATH: 'https://example.com/agent' }),
    start: 78,
    doctor: ['fail environment environment_invalid'],
  },
  {
    name: 'every address may name any user',
    make: env({ AGENT_WEBUI_AUTH_HEADER: 'Remote-User', AGENT_WEBUI_TRUSTED_PROXIES: '::/0' }),
    doctor: ['warn proxy sign-in proxies_untrusted', 'warn password password_missing'],
  },
  {
    name: 'the default workspace is the state directory',
    make: (_, state) => ({ env: { AGENT_WEBUI_DEFAULT_WORKSPACE: state } }),
    doctor: ['fail workspace workspace_unusable'],
  },
  {
    name: 'the proxy list holds a word',
    make: env({ AGENT_WEBUI_TRUSTED_PROXIES: 'banana' }),
    start: 78,
    doctor: ['fail environment environment_invalid'],
  },
  {
    name: 'an origin is no origin',
    make: env({ AGENT_WEBUI_ALLOWED_ORIGINS: 'banana' }),
    doctor: ['warn environment variable_ignored'],
  },
  {
    name: 'the user header has no trusted proxy',
    make: env({ AGENT_WEBUI_AUTH_HEADER: 'Remote-User' }),
    start: 78,
    doctor: ['fail environment environment_invalid'],
  },
  {
    name: 'the provider of sign-ins does not answer',
    make: env({
      AGENT_WEBUI_OIDC_ISSUER: 'http://127.0.0.1:9',
      AGENT_WEBUI_OIDC_CLIENT_ID: 'agent',
    }),
    doctor: ['warn password password_missing', 'fail single sign-on oidc_unreachable'],
  },
  ...['Mars/Phobos', 'CET-1CEST', '/etc/localtime'].map(zone => ({
    name: `TZ=${zone} names no time zone`,
    make: env({ TZ: zone }),
    doctor: ['warn time zone time_zone_unknown'],
  })),
  { name: 'TZ with the colon of POSIX', make: env({ TZ: ':Europe/Berlin' }) },
  ...Object.entries({
    AGENT_WEBUI_PORT: 'abc',
    AGENT_WEBUI_BASE_PATH: '/a//b',
    AGENT_WEBUI_TRUSTED_PROXIES: '10.0.0.0/99',
    AGENT_WEBUI_TERMINAL: 'maybe',
    AGENT_WEBUI_SANDBOX: 'maybe',
    AGENT_WEBUI_LOG_LEVEL: 'loud',
    AGENT_WEBUI_METRICS_TOKEN: 'with a space in it and long',
    AGENT_WEBUI_OIDC_ISSUER: 'https://login.example',
    AGENT_WEBUI_AUTH_HEADER: 'Cookie',
    AGENT_WEBUI_CLUSTER_URL: 'mysql://db.example/agent',
    AGENT_WEBUI_TLS_KEY: '/nope/key.pem',
  }).map(([name, value]) => ({
    name: `${name}=${value} stops the start`,
    make: env({ [name]: value }),
    start: 78 as const,
    doctor: ['fail environment environment_invalid'],
  })),
  {
    name: 'the issuer of sign-ins is reached without TLS',
    make: env({
      AGENT_WEBUI_OIDC_ISSUER: 'http://login.example',
      AGENT_WEBUI_OIDC_CLIENT_ID: 'agent',
    }),
    start: 78,
    doctor: ['fail environment environment_invalid'],
  },
  {
    name: 'the file with the secret of the provider of sign-ins does not exist',
    make: env({
      AGENT_WEBUI_OIDC_ISSUER: 'http://127.0.0.1:9',
      AGENT_WEBUI_OIDC_CLIENT_ID: 'agent',
      AGENT_WEBUI_OIDC_CLIENT_SECRET_FILE: '/nope/secret',
    }),
    start: 1,
    doctor: ['fail single sign-on oidc_secret_unreadable', 'warn password password_missing'],
  },
  {
    name: 'the name of the host is unknown',
    make: env({ AGENT_WEBUI_HOST: 'no-such-host.invalid' }),
    start: 1,
    doctor: ['fail address address_unusable', 'warn password password_missing'],
  },
  {
    name: 'the state directory is in /proc',
    make: env({ AGENT_WEBUI_STATE_DIR: '/proc/nope/x' }),
    start: 78,
    doctor: ['fail state state_not_writable'],
  },
  {
    name: 'the state directory is below a device',
    make: env({ AGENT_WEBUI_STATE_DIR: '/dev/null/x' }),
    start: 78,
    doctor: ['fail state state_not_directory'],
  },
  {
    name: 'the database of the cluster does not answer',
    make: env({ AGENT_WEBUI_CLUSTER_URL: 'postgres://agent@127.0.0.1:9/agent' }),
    doctor: ['fail cluster cluster_unusable'],
  },
  {
    name: 'the certificate is a directory',
    make: ({ root }) => ({ env: { AGENT_WEBUI_TLS_CERT: root, AGENT_WEBUI_TLS_KEY: root } }),
    start: 1,
    doctor: ['fail certificate certificate_unusable'],
  },
  { name: 'the system chooses the port', make: env({ AGENT_WEBUI_PORT: '0' }) },
  {
    name: 'PATH is empty',
    make: env({ PATH: '' }),
    doctor: [
      'warn git program_missing',
      'warn python3 program_missing',
      'warn flock program_missing',
    ],
  },
  {
    name: 'other machines reach the service, and there is no password',
    make: env({ AGENT_WEBUI_HOST: '0.0.0.0' }),
    doctor: ['warn password password_missing'],
  },
  {
    name: 'other machines reach the service, which has a password',
    make: env({ AGENT_WEBUI_HOST: '0.0.0.0', AGENT_WEBUI_PASSWORD: 'correct horse' }),
  },
  {
    name: 'a variable of an earlier version is set',
    make: env({ AGENT_WEBUI_RELEASES: 'https://example.com/releases.json' }),
    doctor: ['warn environment variable_ignored'],
  },
]
