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
    start:
      /^The certificate \/nope\/c\.pem cannot be read: it does not exist\. Fix AGENT_WEBUI_TLS/,
    doctor: [['fail', 'certificate', /it does not exist$/]],
  },
  {
    name: 'the certificate is no certificate',
    make: ({ root }) => {
      const pem = join(root, 'bad.pem')
      put(pem, 'not a certificate')
      return { env: { AGENT_WEBUI_TLS_CERT: pem, AGENT_WEBUI_TLS_KEY: pem } }
    },
    start: /bad\.pem is not a certificate in PEM format/,
    doctor: [['fail', 'certificate', /is not a certificate in PEM format$/]],
  },
  {
    name: 'the TLS key is no key',
    make: ({ root }) => {
      const { AGENT_WEBUI_TLS_CERT: cert } = makeCertificate(root, '90')
      return { env: { AGENT_WEBUI_TLS_CERT: cert, AGENT_WEBUI_TLS_KEY: cert } }
    },
    start: /cert\.pem is not a private key in PEM format/,
    doctor: [['fail', 'certificate', /is not a private key in PEM format$/]],
  },
  {
    name: 'the TLS key has a passphrase',
    make: ({ root }) => ({ env: makeCertificate(root, '90', '-passout', 'pass:abcd') }),
    start: /key\.pem is protected with a passphrase\. Store it without one/,
    doctor: [['fail', 'certificate', /is protected with a passphrase$/]],
  },
  {
    name: 'certificate and key do not belong together',
    make: ({ root }) => {
      const { AGENT_WEBUI_TLS_KEY } = makeCertificate(join(root, 'other'), '30')
      return { env: { ...makeCertificate(root, '30'), AGENT_WEBUI_TLS_KEY } }
    },
    start: /does not belong to the certificate/,
    doctor: [['fail', 'certificate', /does not belong to the certificate/]],
  },
  {
    name: 'the certificate expires soon',
    make: ({ root }) => ({ env: makeCertificate(root, '3') }),
    doctor: [['warn', 'certificate', /expires in 2 days$/]],
  },
  {
    name: 'the certificate has expired',
    make: ({ root }) => ({
      env: makeCertificate(root, '3'),
      machine: { clock: { now: () => Date.now() + 9 * 86_400_000 } },
    }),
    doctor: [['warn', 'certificate', /expired \d days ago; browsers refuse it$/]],
  },
  {
    name: 'only one TLS file is set',
    make: env({ AGENT_WEBUI_TLS_CERT: '/nope/c.pem' }),
    start: /must be set together$/,
    doctor: [['fail', 'environment', /must be set together$/]],
  },
  {
    name: 'a variable is misspelled',
    make: env({ AGENT_WEBUI_PASWORD: 'x' }),
    start: /did you mean AGENT_WEBUI_PASSWORD\?$/,
    doctor: [['fail', 'environment', /did you mean AGENT_WEBUI_PASSWORD/]],
  },
  {
    name: 'the proxy is no address, which may have a password',
    make: env({ https_proxy: 'ftp://me:secret@proxy' }),
    start: /^HTTPS_PROXY must be the address of a proxy, such as http:\/\/proxy\.example:3128$/,
    doctor: [['fail', 'environment', /^HTTPS_PROXY must be/]],
  },
  {
    name: 'a proxy without a scheme is one over HTTP',
    make: env({ HTTP_PROXY: '127.0.0.1:3128', no_proxy: '*' }),
  },
  {
    name: 'the directory of temporary files does not exist',
    make: env({ TMPDIR: '/nope' }),
    doctor: [['warn', 'temporary files', /^\/nope cannot be used \(it does not exist\)$/]],
  },
  {
    name: 'the port is no port',
    make: env({ AGENT_WEBUI_PORT: '99999' }),
    start: /^AGENT_WEBUI_PORT must be a port from 0 to 65535, not "99999"$/,
    doctor: [['fail', 'environment', /from 0 to 65535/]],
  },
  {
    name: 'the format of the log is unknown',
    make: env({ AGENT_WEBUI_LOG: 'xml' }),
    start: /^AGENT_WEBUI_LOG must be text or json, not "xml"$/,
    doctor: [['fail', 'environment', /must be text or json, not "xml"$/]],
  },
  {
    name: 'the token of the metrics is short',
    make: env({ AGENT_WEBUI_METRICS_TOKEN: 'abc' }),
    start: /^AGENT_WEBUI_METRICS_TOKEN must have at least 16 letters.*openssl rand -hex 24$/,
    doctor: [['fail', 'environment', /at least 16 letters/]],
  },
  {
    name: 'traces are to be sent with gRPC',
    make: env({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    }),
    start: /^OTEL_EXPORTER_OTLP_PROTOCOL must be http\/json: gRPC is not supported/,
    doctor: [['fail', 'traces', /gRPC is not supported/]],
  },
  {
    name: 'the machine does not have the address',
    make: env({ AGENT_WEBUI_HOST: '203.0.113.9' }),
    start: /^Cannot listen at 203\.0\.113\.9:0: this machine does not have that address\. Choose/,
    doctor: [['fail', 'address', /this machine does not have that address$/]],
  },
  {
    name: 'the password is too long',
    make: env({ AGENT_WEBUI_PASSWORD: 'x'.repeat(2_000) }),
    start: /^AGENT_WEBUI_PASSWORD cannot be used\. A password can have at most 1,024 characters/,
    doctor: [['fail', 'password', /at most 1,024 characters$/]],
  },
  {
    name: 'the default workspace does not exist',
    make: env({ AGENT_WEBUI_DEFAULT_WORKSPACE: '/nope/work' }),
    doctor: [['fail', 'workspace', /^\/nope\/work does not exist/]],
  },
  ...['/api', '/session/x', '/login', '/static/'].map(path => ({
    name: `the base path ${path} begins like one of the server's own`,
    make: env({ AGENT_WEBUI_BASE_PATH: path }),
    start:
      /^AGENT_WEBUI_BASE_PATH must not begin with \/\w+, which is a path of agent-webui itself\. Choose/,
    doctor: [['fail', 'base path', /must not begin with/]] as const,
  })),
  {
    name: 'the base path is no path',
    make: env({ AGENT_WEBUI_BASE_PATH: 'https://example.com/agent' }),
    start: /^AGENT_WEBUI_BASE_PATH must be a path like \/agent, not "https:/,
    doctor: [['fail', 'environment', /must be a path like/]],
  },
  {
    name: 'the proxy list holds a word',
    make: env({ AGENT_WEBUI_TRUSTED_PROXIES: 'banana' }),
    start: /not "banana"$/,
    doctor: [['fail', 'environment', /not "banana"$/]],
  },
  {
    name: 'an origin is no origin',
    make: env({ AGENT_WEBUI_ALLOWED_ORIGINS: 'banana' }),
    doctor: [['warn', 'environment', /"banana" is ignored, write it as https:\/\/host$/]],
  },
  {
    name: 'the user header has no trusted proxy',
    make: env({ AGENT_WEBUI_AUTH_HEADER: 'Remote-User' }),
    start: /needs AGENT_WEBUI_TRUSTED_PROXIES/,
    doctor: [['fail', 'environment', /needs AGENT_WEBUI_TRUSTED_PROXIES/]],
  },
  {
    name: 'the provider of sign-ins does not answer',
    make: env({
      AGENT_WEBUI_OIDC_ISSUER: 'http://127.0.0.1:9',
      AGENT_WEBUI_OIDC_CLIENT_ID: 'agent',
    }),
    doctor: [
      ['fail', 'single sign-on', /127\.0\.0\.1:9: sign-in with 127\.0\.0\.1: connection refused$/],
    ],
  },
]
