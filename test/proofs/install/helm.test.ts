/**
 * The Helm chart, rendered and linted by the real helm: what it renders has only fields that Kubernetes knows (its types are
 * those of the API), pods without rights, secrets from outside, and settings that the program accepts.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parse, parseAllDocuments } from 'yaml'
import { clusterUrl } from '../../../lib/app/cell.ts'
import { readConfig } from '../../../lib/config.ts'
import { createDesk } from '../../lib/cli/_run.ts'
import { findHelm } from '../../_helm.ts'

const CHART = 'helm/agent-webui'
/** helm itself knows only the versions of its time. */
const KUBERNETES = ['--kube-version', '1.30.0']
const IMAGE = ['--set', 'image.repository=registry.example/agent-webui']
const EVERYTHING = [
  ...IMAGE,
  ...['--set', 'passwordSecret.name=page,imagePullSecrets[0].name=pull,nodeSelector.disk=fast'],
  ...['--set', 'tolerations[0].key=agents,tolerations[0].operator=Exists,podAnnotations.a=b'],
  ...['--set', 'service.env[0].name=OPENAI_API_KEY,service.env[0].valueFrom.secretKeyRef.name=k'],
  ...['--set', 'service.env[0].valueFrom.secretKeyRef.key=k,service.storage.className=fast'],
  ...[
    '--set',
    'forwarder.trustedProxies[0]=10.1.0.0/16,cells[0].name=anna,cells[0].cell=anna@example.com',
  ],
]
/** A pod and a volume for each of them. */
const PEOPLE = [
  ...EVERYTHING,
  ...['--set', 'authHeader=Remote-User,cells[1].name=ben,cells[1].cell=Ben@example.com'],
]
const WORKERS = [
  ...EVERYTHING,
  ...[
    '--set',
    'workers.enabled=true,workers.capacity=4,workers.labels[0]=gpu,authHeader=Remote-User',
  ],
]

/** In `kubernetes-types`. */
const TYPES: Readonly<Record<string, string>> = {
  'v1 Service': 'core/v1',
  'apps/v1 StatefulSet': 'apps/v1',
  'apps/v1 Deployment': 'apps/v1',
  'policy/v1 PodDisruptionBudget': 'policy/v1',
  'networking.k8s.io/v1 NetworkPolicy': 'networking/v1',
}

type Variable = { name: string; value?: string; valueFrom?: object }
type Container = {
  env: Variable[]
  args?: string[]
  command?: string[]
  ports: { name: string; containerPort: number }[]
  securityContext: object
  volumeMounts: { name: string; mountPath: string }[]
  livenessProbe: { exec?: { command: string[] } }
  startupProbe?: { exec?: { command: string[] } }
  readinessProbe?: { exec?: { command: string[] } }
}
type Pod = {
  metadata: { labels: Record<string, string> }
  spec: {
    containers: [Container]
    volumes: { name: string; secret?: { secretName: string; items: { key: string }[] } }[]
    securityContext: object
    enableServiceLinks: boolean
    automountServiceAccountToken: boolean
  }
}
type Rendered = {
  apiVersion: string
  kind: string
  metadata: { name: string }
  spec: {
    replicas: number
    template: Pod
    selector: { matchLabels: Record<string, string> } & Record<string, unknown>
    serviceName: string
  } & Record<string, unknown>
}

const helm = await findHelm()
const test = suite('helm chart')

const render = (...values: string[]): Rendered[] => {
  const { code, stdout, stderr } = helm!('template', 'demo', CHART, ...KUBERNETES, ...values)
  assert.is(code, 0, stderr)
  return parseAllDocuments(stdout)
    .map(document => document.toJS() as Rendered | null)
    .filter(document => document !== null)
}

/** What the compiler says about objects whose types are those of the Kubernetes API. */
const typeErrors = (documents: readonly Rendered[]): string => {
  // Below the packages, where their types are found.
  const dir = mkdtempSync(resolve('node_modules/.cache/helm-'))
  const lines = documents.map((document, at) => {
    const from = TYPES[`${document.apiVersion} ${document.kind}`]
    assert.ok(from, `${document.apiVersion} ${document.kind}`)
    return `export const d${at}: import('kubernetes-types/${from}').${document.kind} = ${JSON.stringify(document)}`
  })
  try {
    const path = join(dir, 'chart.ts')
    writeFileSync(path, lines.join('\n'))
    writeFileSync(
      join(dir, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          ...{ strict: true, noEmit: true, types: [], skipLibCheck: true },
          ...{ target: 'esnext', module: 'esnext', moduleResolution: 'bundler' },
        },
        files: ['chart.ts'],
      }),
    )
    const tsc = resolve('node_modules/.bin/tsc')
    return spawnSync(process.execPath, [tsc, '-p', dir], { encoding: 'utf8' }).stdout
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const one = (documents: readonly Rendered[], kind: string): Rendered => {
  const found = documents.filter(each => each.kind === kind)
  assert.is(found.length, 1, kind)
  return found[0]!
}

if (helm === null) test.skip('there is no helm for this platform', () => undefined)
else {
  test('a chart without an image, and values that it does not know, are rejected with a sentence', () => {
    const none = helm('template', 'demo', CHART, ...KUBERNETES)
    assert.is(none.code, 1)
    assert.match(none.stderr, 'image.repository')
    for (const unsafe of [
      'workers.enabled=true,authHeader=Remote-User',
      'cells[0].name=anna,cells[1].name=ben,authHeader=Remote-User',
    ]) {
      const { code, stderr } = helm('template', CHART, ...KUBERNETES, ...IMAGE, '--set', unsafe)
      assert.is(code, 1)
      assert.match(stderr, 'authHeader and forwarder.trustedProxies are needed')
    }
    for (const wrong of [
      'replicas=3',
      'workers.capacity=0',
      'service.replicas=2',
      'forwarder.tls=on',
      'cells[0].name=A b',
      'cells[0].name=a,cells[0].cell=a b',
    ]) {
      const { code, stderr } = helm('template', CHART, ...KUBERNETES, ...IMAGE, '--set', wrong)
      assert.is(code, 1, wrong)
      assert.match(stderr, "values don't meet the specifications")
    }
  })

  test('helm lints it, and its version is that of the program', () => {
    const { code, stdout } = helm('lint', CHART, '--strict', ...IMAGE)
    assert.is(code, 0, stdout)
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    const chart = parse(readFileSync(`${CHART}/Chart.yaml`, 'utf8'))
    assert.equal([chart.version, chart.appVersion], [version, version])
  })

  test('the check of the types notices a field that Kubernetes does not have, and a wrong one', () => {
    const [set, service] = [one(render(...IMAGE), 'StatefulSet'), render(...IMAGE)[0]!]
    const pod = set.spec.template.spec as unknown as Record<string, unknown>
    pod.enableServiceLink = false
    set.spec.replicas = '2' as never
    const said = typeErrors([set, service])
    assert.match(said, /'"enableServiceLink"' does not exist/)
    assert.match(said, /'string' is not assignable to type 'number'/)
  })

  test('everything it renders has the types of the Kubernetes API', () => {
    const off = [...IMAGE, '--set', 'networkPolicy.enabled=false']
    const documents = [IMAGE, EVERYTHING, PEOPLE, WORKERS, off].flatMap(values => render(...values))
    assert.is(typeErrors(documents), '')
    const kinds = [...new Set(documents.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`))]
    assert.equal(kinds.sort(), Object.keys(TYPES).sort())
  })

  test('pods have no rights, no account of the cluster, and no variables of other services', () => {
    for (const kind of ['StatefulSet', 'Deployment']) {
      const { spec } = one(render(...EVERYTHING), kind)
      const pod = spec.template.spec
      assert.equal(pod.securityContext, {
        runAsNonRoot: true,
        runAsUser: 65532,
        runAsGroup: 65532,
        fsGroup: 65532,
        fsGroupChangePolicy: 'OnRootMismatch',
        seccompProfile: { type: 'RuntimeDefault' },
      })
      assert.equal(pod.containers[0].securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      assert.equal([pod.enableServiceLinks, pod.automountServiceAccountToken], [false, false])
      assert.is(spec.replicas, kind === 'Deployment' ? 2 : 1)
    }
  })

  test('secrets come from outside; only workers get the key', () => {
    const documents = render(...WORKERS)
    assert.not(documents.some(({ kind }) => kind === 'Secret'))
    const keysOf = (kind: string) =>
      one(documents, kind)
        .spec.template.spec.volumes.flatMap(({ secret }) => secret?.items ?? [])
        .map(({ key }) => key)
    assert.equal(keysOf('StatefulSet'), ['url', 'key'])
    assert.equal(keysOf('Deployment'), ['url'])
    const [cell] = one(render(...EVERYTHING), 'StatefulSet').spec.template.spec.volumes.flatMap(
      ({ secret }) => (secret ? [secret.items.map(({ key }) => key)] : []),
    )
    assert.equal(cell, ['url'])
  })

  test('the image gets settings that the program accepts, and commands that it knows', async () => {
    const image = { HOME: '/data', AGENT_WEBUI_HOST: '0.0.0.0' }
    const dir = mkdtempSync(join(process.env.TMPDIR ?? '/tmp', 'chart-'))
    const desk = createDesk()
    try {
      const url = join(dir, 'url')
      const unread = { url: null, urlFile: url }
      assert.throws(() => clusterUrl(unread), 'AGENT_WEBUI_CLUSTER_URL_FILE: ')
      writeFileSync(url, 'db.example')
      assert.throws(() => clusterUrl(unread), `${url} must be the address of a PostgreSQL database`)
      writeFileSync(url, 'postgres://agent:word@db.example/agent\n')
      for (const kind of ['StatefulSet', 'Deployment']) {
        const [container] = one(render(...EVERYTHING), kind).spec.template.spec.containers
        const given = container.env.map(({ name, value = 'from a secret' }) => [
          name,
          value.replace('/etc/agent-webui/url', url).replace('$(POD_NAME)', 'demo-0'),
        ])
        const config = readConfig({ ...image, ...Object.fromEntries(given) }, [])
        assert.is(clusterUrl(config.cluster!), 'postgres://agent:word@db.example/agent')
        assert.is(config.cluster?.cell, 'anna@example.com')
        if (kind === 'StatefulSet') assert.is(config.cluster?.files, 'volume')
        assert.ok(config.trustedProxies.some(range => range.startsWith('10.')))
        assert.is(container.ports[0]?.containerPort, config.port)
        const probes = [container.livenessProbe, container.startupProbe, container.readinessProbe]
        for (const probe of probes) {
          const [program, ...words] = probe?.exec?.command ?? []
          if (program === undefined) continue
          assert.is(program, 'agent-webui')
          // Nothing runs here: that is code 1, and 2 would be a command that does not exist.
          assert.is((await desk.talk([...words.slice(0, -1), '1'])).code, 1)
        }
        if (kind === 'Deployment') assert.equal(container.args, ['forward'])
      }
      const own = one(render(...IMAGE), 'StatefulSet').spec
      const address = own.template.spec.containers[0].env.find(
        ({ name }) => name === 'AGENT_WEBUI_CLUSTER_ADDRESS',
      )
      assert.is(address?.value, `http://$(POD_NAME).${own.serviceName}.default.svc:8787`)
    } finally {
      desk.close()
      rmSync(dir, { recursive: true, force: true })
    }
  })

  test('workers: each has a name, an address, and ports for its cells; the forwarder knows the same header', () => {
    const documents = render(...WORKERS)
    const image = { HOME: '/data', AGENT_WEBUI_HOST: '0.0.0.0' }
    const configOf = (kind: string, from = documents) => {
      const [{ env, args }] = one(from, kind).spec.template.spec.containers
      const given = env.map(({ name, value = 'from a secret' }) => [
        name,
        value.replace('$(POD_NAME)', 'demo-0'),
      ])
      return { args, config: readConfig({ ...image, ...Object.fromEntries(given) }, []) }
    }
    const worker = configOf('StatefulSet')
    const { cluster, authHeader } = worker.config
    assert.equal(worker.args, ['worker'])
    // One cell at a time, unless it is said that they may be one user.
    assert.equal(cluster?.worker, { name: 'demo-0', users: null, capacity: 4, labels: ['gpu'] })
    const shared = configOf('StatefulSet', render(...WORKERS, '--set', 'workers.shared=true'))
    assert.is(shared.config.cluster?.worker.users, 'shared')
    assert.equal([cluster?.cell, cluster?.idleMs], ['default', 15 * 60_000])
    assert.is(cluster?.address, 'http://demo-0.demo-agent-webui-worker.default.svc:8787')
    assert.equal(
      [authHeader, configOf('Deployment').config.authHeader],
      ['remote-user', 'remote-user'],
    )
    const { ingress } = one(documents, 'NetworkPolicy').spec as { ingress?: { ports: object[] }[] }
    assert.equal(ingress?.[0]?.ports, [{ port: 8787, endPort: 8790 }])
  })

  test('every cell has a pod, a volume, and an address of its own', () => {
    const sets = render(...PEOPLE).filter(({ kind }) => kind === 'StatefulSet')
    const variableOf = ({ spec }: Rendered, name: string) =>
      spec.template.spec.containers[0].env.find(each => each.name === name)?.value
    assert.equal(
      sets.map(set => [
        variableOf(set, 'AGENT_WEBUI_CLUSTER_CELL'),
        variableOf(set, 'AGENT_WEBUI_CLUSTER_ADDRESS'),
        set.spec.replicas,
      ]),
      ['anna', 'ben'].map(name => [
        `${name === 'ben' ? 'Ben' : name}@example.com`,
        `http://$(POD_NAME).demo-agent-webui-cell-${name}.default.svc:8787`,
        1,
      ]),
    )
  })

  for (const [name, values] of Object.entries({
    'of a cell': IMAGE,
    'of cells': PEOPLE,
    'of workers': WORKERS,
  }))
    test(`selectors ${name} find the pods they are for, and no others`, () => {
      const documents = render(...values)
      const pods = documents.flatMap(({ kind, spec }) =>
        kind === 'StatefulSet' || kind === 'Deployment' ? [spec.template] : [],
      )
      const found = (selector: Record<string, string>) =>
        pods
          .filter(({ metadata }) =>
            Object.entries(selector).every(([name, value]) => metadata.labels[name] === value),
          )
          .map(({ metadata }) => metadata.labels['app.kubernetes.io/component'])
      for (const { kind, metadata, spec } of documents) {
        const selector = (spec.podSelector as typeof spec.selector | undefined) ?? spec.selector
        const labels = selector.matchLabels ?? selector
        const wanted = /-(cell-\w+|worker)$/.exec(metadata.name)?.[1] ?? 'forwarder'
        assert.equal(found(labels), [wanted], `${kind} ${metadata.name}`)
      }
    })
}

test.run()
