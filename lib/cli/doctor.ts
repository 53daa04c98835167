/**
 * `agent-webui doctor`: checks the setup and suggests fixes; with `--fix`, applies those that lose nothing. Exits with 1
 * when a check failed.
 */
import { systemClock } from '../base/clock.ts'
import { createProviders, createProxyDispatcher } from '../agent/providers/registry.ts'
import { type Machine, thisMachine } from '../app/machine.ts'
import type { Config } from '../config.ts'
import { signing } from '../people/signing-key.ts'
import { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import { ModelServices } from '../models/models.ts'
import { writeEnv } from '../profiles/write-env.ts'
import { Homes } from '../profiles/homes.ts'
import { redact } from '../base/redact/redact.ts'
import { fileReason } from '../store/file-error.ts'
import type { DoctorArguments } from './arguments.ts'
import { addressChecks } from './check-address.ts'
import { type Check, type CheckContext, fail, type Level } from './check.ts'
import { runChecks } from './checks.ts'
import type { Terminal } from './terminal.ts'

const MARKS: Readonly<Record<Level, string>> = { ok: '✓', warn: '!', fail: '✗' }

const lineOf = ({ about, level, said, advice }: Check): string =>
  `${MARKS[level]} ${about}: ${said}${advice ? `\n    ${advice}` : ''}`

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

/** What was or would be changed, one line each. */
export type Repair = { does: string; problem: string | null }

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

const report = (
  checks: readonly Check[],
  repairs: readonly Repair[],
  isDryRun: boolean,
): string => {
  const level = (['fail', 'warn'] as const).find(each => checks.some(check => check.level === each))
  const changes = repairs.map(each => repairLine(each, isDryRun))
  return [
    ...changes,
    ...(changes.length > 0 ? [''] : []),
    ...checks.map(lineOf),
    '',
    END[level ?? 'ok'],
  ]
    .join('\n')
    .concat('\n')
}

/** The checks of `--url`, which need nothing of this machine. */
export const doctorOfAddress = async (
  url: string,
  { json, terminal }: { json: boolean; terminal: Terminal },
): Promise<number> => {
  const checks = (await addressChecks(url, { clock: systemClock })).map(redacted)
  const isOk = checks.every(({ level }) => level !== 'fail')
  terminal.out(
    json ? `${JSON.stringify({ ok: isOk, checks }, null, 2)}\n` : report(checks, [], false),
  )
  await terminal.drain()
  return isOk ? 0 : 1
}

export const badEnvironment = (said: string): Check =>
  fail(
    'environment_invalid',
    'environment',
    said,
    'Fix the environment variable, then run doctor again.',
  )

/** The parts of the program that are unpacked from its file. */
export const notUnpacked = (said: string): Check =>
  fail('program_not_unpacked', 'program', said, 'Then run doctor again. Until then nothing starts.')

/** Without it, nothing else can be checked. */
export const reportOnly = async (
  check: Check,
  { json, terminal }: { json: boolean; terminal: Terminal },
): Promise<number> => {
  const checks = [redacted(check)]
  terminal.out(
    json ? `${JSON.stringify({ ok: false, checks }, null, 2)}\n` : report(checks, [], false),
  )
  await terminal.drain()
  return 1
}

/** A key that cannot be read is a finding of its own (`start-checks.ts`), and none of the others. */
const readableSigning = (stateDir: string): ReturnType<typeof signing> => {
  const found = signing(stateDir)
  try {
    found.key()
    return found
  } catch {
    // Named by the check of the signing key.
    return { key: () => undefined, isMarked: () => false, mark: () => undefined }
  }
}

const openContext = async (
  profile: string | null,
  given: Pick<CheckContext, 'config' | 'addon' | 'machine' | 'ownNames'>,
): Promise<CheckContext> => {
  const { config } = given
  const acceptedSettings = new AcceptedSettings(config.stateDir, readableSigning(config.stateDir), {
    mayConfirm: false,
  })
  const homes = new Homes(config, systemClock, acceptedSettings)
  const home = homes.open(profile ?? homes.active())
  const dispatcher = await createProxyDispatcher(config.env)
  const models = new ModelServices({
    clock: systemClock,
    config,
    providers: createProviders(dispatcher, systemClock),
    dispatcher,
    writeEnv,
    log: () => undefined,
    agentModels: () => [],
  })
  return { ...given, home, homes, acceptedSettings, models }
}

export type DoctorServices = {
  config: Config
  addon: string | undefined
  version: string
  terminal: Terminal
  machine?: Machine | undefined
  ownNames?: ReadonlySet<string> | undefined
}

export const doctor = async (
  { json, profile, fix, dryRun }: Pick<DoctorArguments, 'json' | 'profile' | 'fix' | 'dryRun'>,
  { config, addon, version, terminal, machine = thisMachine, ownNames = new Set() }: DoctorServices,
): Promise<number> => {
  const context = await openContext(profile, { config, addon, machine, ownNames })
  const found = await runChecks(context, version)
  const repairs = fix ? repair(found, dryRun) : []
  // What is left is what counts.
  const isChanged = !dryRun && repairs.length > 0
  const checks = (isChanged ? await runChecks(context, version) : found).map(redacted)
  const failed = checks.some(({ level }) => level === 'fail')
  if (json) {
    const shown = checks.map(({ fix: possible, ...check }) =>
      possible ? { ...check, fix: possible.does } : check,
    )
    const body = { ok: !failed, version, ...(fix && { repairs, dry_run: dryRun }), checks: shown }
    terminal.out(`${JSON.stringify(body, null, 2)}\n`)
  } else {
    const node = `Node ${process.versions.node}`
    terminal.out(`agent-webui ${version}, ${node}\n\n${report(checks, repairs, dryRun)}`)
  }
  await terminal.drain()
  return failed ? 1 : 0
}
