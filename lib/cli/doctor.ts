/**
 * `agent-webui doctor`: checks the setup and suggests fixes; with `--fix`, applies those that lose nothing. Exits with 1
 * when a check failed. With `--wait`, it only waits until the server of this state directory responds.
 */
import { createProviders, createProxyDispatcher } from '../agent/providers/registry.ts'
import { clusterUrl, readClusterKey } from '../app/cell.ts'
import { inspectContainer } from '../app/command-place.ts'
import { knownFiles } from '../app/known-files.ts'
import { systemClock } from '../base/clock.ts'
import { redact } from '../base/redact/redact.ts'
import { AcceptedGuards } from '../commands/guards/accepted-guards.ts'
import { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import type { Config } from '../config.ts'
import { JobsFile } from '../cron/jobs-file.ts'
import { readSchedule } from '../cron/parse-schedule.ts'
import { messageOf } from '../errors.ts'
import { ModelServices } from '../models/models.ts'
import { addressChecks } from '../operations/checks/address-checks.ts'
import {
  type Check,
  type CheckCode,
  type CheckContext,
  finding,
  hasFailed,
  type Level,
} from '../operations/checks/check.ts'
import { runChecks } from '../operations/checks/checks.ts'
import { thisMachine } from '../operations/checks/machine.ts'
import { announcedAddress } from '../store/instance-lock.ts'
import { fetchHealth, urlOf } from '../operations/preflight.ts'
import { signing } from '../people/signing-key.ts'
import type { Home } from '../profiles/home.ts'
import { Homes } from '../profiles/homes.ts'
import { Skills } from '../profiles/skills/skills.ts'
import { writeEnv } from '../profiles/write-env.ts'
import { fileReason } from '../store/file-error.ts'
import { HomeGuards } from '../turns/context/guards.ts'
import type { CommandContext } from './run.ts'
import type { Terminal } from './terminal.ts'

export type DoctorArguments = {
  json: boolean
  profile: string | null
  /** Apply what is safe. */
  fix: boolean
  /** Only say what `fix` would do. */
  dryRun: boolean
  /** How long to wait for the server to respond, instead of checking the setup; in milliseconds. */
  waitMs: number | null
  /** Check the server through the reverse proxy at this address, instead of the setup. */
  url: string | null
}

const MARKS: Readonly<Record<Level, string>> = { ok: '✓', warn: '!', fail: '✗' }

const END = {
  ok: 'Everything is OK.',
  warn: 'Working, with warnings. See the lines marked with !',
  fail: 'Some checks failed. See the lines marked with ✗',
} as const

const redacted = (check: Check): Check => ({
  ...check,
  said: redact(check.said),
  ...(check.advice !== undefined && { advice: redact(check.advice) }),
})

/** What was or would be changed. */
type Repair = { does: string; problem: string | null }

/** Applies each fix once. One that fails is reported, and the others are applied. */
const repair = (checks: readonly Check[], isDryRun: boolean): Repair[] =>
  checks
    .flatMap(({ fix }) => fix ?? [])
    .map(({ does, apply }) => {
      try {
        if (!isDryRun) apply()
        return { does, problem: null }
      } catch (error) {
        return { does, problem: `${fileReason(error)}` }
      }
    })

const repairLine = ({ does, problem }: Repair, isDryRun: boolean): string => {
  if (isDryRun) return `would ${does}`
  return problem === null ? `did: ${does}` : `could not ${does}: ${problem}`
}

const toText = (checks: readonly Check[], changes: readonly string[]): string => {
  const level = (['fail', 'warn'] as const).find(each => checks.some(check => check.level === each))
  const lines = checks.map(
    ({ about, level: mark, said, advice }) =>
      `${MARKS[mark]} ${about}: ${said}${advice ? `\n    ${advice}` : ''}`,
  )
  return [
    ...changes,
    ...(changes.length > 0 ? [''] : []),
    ...lines,
    '',
    END[level ?? 'ok'],
    '',
  ].join('\n')
}

/** Returns the exit code. */
const report = (
  terminal: Terminal,
  results: readonly Check[],
  json: boolean,
  {
    version,
    repairs,
    isDryRun = false,
  }: { version?: string; repairs?: Repair[] | undefined; isDryRun?: boolean } = {},
): number => {
  const checks = results.map(redacted)
  const isFailed = hasFailed(checks)
  const node = `Node ${process.versions.node}`
  const changes = (repairs ?? []).map(each => repairLine(each, isDryRun))
  const body = {
    ok: !isFailed,
    version,
    ...(repairs && { repairs, dry_run: isDryRun }),
    checks: checks.map(({ fix, ...check }) => ({ ...check, ...(fix && { fix: fix.does }) })),
  }
  terminal.out(
    json
      ? `${JSON.stringify(body, null, 2)}\n`
      : `${version ? `agent-webui ${version}, ${node}\n\n` : ''}${toText(checks, changes)}`,
  )
  return isFailed ? 1 : 0
}

/** A key that cannot be read is a finding of its own (`start-checks.ts`), and none of the others. */
const readableSigning = (stateDir: string): ReturnType<typeof signing> => {
  const key = signing(stateDir)
  try {
    key.key()
    return key
  } catch {
    // Named by the check of the signing key.
    return { key: () => undefined, isMarked: () => false, mark: () => undefined }
  }
}

const jobsOf = ({ dir }: Home) => new JobsFile(`${dir}/cron`, () => '')

const openContext = async (
  profile: string | null,
  base: Omit<CheckContext, 'home' | 'homes' | 'acceptedSettings' | 'models' | 'above'>,
): Promise<CheckContext> => {
  const { config, machine } = base
  const { stateDir, userHome } = config
  const acceptedSettings = new AcceptedSettings(stateDir, readableSigning(stateDir), {
    mayConfirm: false,
  })
  const homes = new Homes(config, systemClock, acceptedSettings)
  const dispatcher = await createProxyDispatcher(config.env)
  const models = new ModelServices({
    ...{ clock: systemClock, config, dispatcher, writeEnv },
    providers: createProviders(dispatcher, systemClock),
    log: () => undefined,
    agentModels: () => [],
  })
  const accepted = new AcceptedGuards(`${stateDir}/accepted-guards.json`)
  const skills = new Skills(userHome)
  return {
    ...base,
    ...{ homes, acceptedSettings, models },
    home: homes.open(profile ?? homes.active()),
    above: {
      stateFiles: () => knownFiles(stateDir),
      jobsOf,
      brokenTasks: home =>
        jobsOf(home)
          .read()
          .filter(each => readSchedule(each.schedule, machine.clock.now(), 'UTC') === undefined)
          .map(({ id }) => id),
      guards: home => new HomeGuards(accepted, acceptedSettings, skills).list(home),
      container: home => inspectContainer(home, userHome),
      async cluster(settings) {
        const [url, key] = [clusterUrl(settings), readClusterKey(settings)]
        const { checkCluster } = await import('../cluster/postgres.ts')
        await checkCluster({ url, key }, settings.cell)
      },
    },
  }
}

const POLL_MS = 250
const ANSWER_MS = 2_000

/** Polls at least once, also with 0 milliseconds. Exit code 0 once the server responds, 1 when the time is up. */
const waitForService = async (config: Config, ms: number, terminal: Terminal): Promise<number> => {
  const clock = systemClock
  const end = clock.monotonic() + ms
  for (;;) {
    // instance.json has the port when the system chose it. Without one, use the configured address.
    const address = announcedAddress(config.stateDir) ?? urlOf(config, config.port)
    const status = await fetchHealth(address, ANSWER_MS).catch(() => null)
    if (status === 200) {
      terminal.out(`The server responds at ${address}\n`)
      return 0
    }
    if (clock.monotonic() + POLL_MS > end) {
      const why = status === null ? 'does not respond' : `responds with status ${status}`
      terminal.note(`The server at ${address} ${why}`)
      return 1
    }
    await clock.delay(POLL_MS)
  }
}

export const doctor = async (
  { json, profile, fix, dryRun, url, waitMs }: DoctorArguments,
  context: CommandContext,
): Promise<number> => {
  const { terminal, machine = thisMachine, ownNames } = context
  if (url !== null) return report(terminal, await addressChecks(url, { clock: systemClock }), json)
  /** Null when nothing can be checked without it: that is the only finding then. */
  const attempt = <T>(code: CheckCode, about: string, make: () => T): { value: T } | Check => {
    try {
      return { value: make() }
    } catch (error) {
      return finding(code, about, messageOf(error))
    }
  }
  const environment = attempt('environment_invalid', 'environment', () => context.config)
  if (!('value' in environment)) return report(terminal, [environment], json)
  const config = environment.value
  if (waitMs !== null) return waitForService(config, waitMs, terminal)
  const program = attempt('program_not_unpacked', 'program', () => context.addon)
  if (!('value' in program)) return report(terminal, [program], json)
  const version = await context.version()
  const base = { config, machine, ownNames, version, addon: program.value }
  const checkContext = await openContext(profile, base)
  const checks = await runChecks(checkContext)
  const repairs = fix ? repair(checks, dryRun) : undefined
  // What is left is what counts.
  const isChanged = !dryRun && repairs !== undefined && repairs.length > 0
  const remaining = isChanged ? await runChecks(checkContext) : checks
  return report(terminal, remaining, json, { version, repairs, isDryRun: dryRun })
}
