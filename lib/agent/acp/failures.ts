/** Converts errors of external agents to the engine's failures. */
import { sentence } from '../../base/sentences.ts'
import { isObject } from '../../base/json.ts'
import { messageOf } from '../../errors.ts'
import { classify } from '../failure.ts'
import type { Failure } from '../types.ts'
import type { SignIn } from '../external-agent.ts'
import type { InitializeResponse } from './updates.ts'
import { shellQuote } from '../../base/shell-quote.ts'

/** Thrown to end a turn with a failure. */
export class TurnFailure extends Error {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(`${failure.message}`)
    this.failure = failure
  }
}

/** Nobody is signed in to the agent. */
export class SignedOut extends TurnFailure {
  readonly signIn: SignIn
  constructor(name: string, signIn: SignIn) {
    const reason = signIn.said.slice(0, 990)
    super({
      type: 'error',
      // Not `auth_mismatch`: that would offer to add a key, which an external agent doesn't take from us.
      message:
        reason === ''
          ? sentence('turn.agent_signed_out', { name })
          : sentence('turn.agent_signed_out_says', { name, reason }),
      hint: signInHint(name, signIn),
    })
    this.signIn = signIn
  }
}

/** ACP's `auth_required`. */
const AUTH_REQUIRED = -32000
const NOT_FOUND = -32002

/** The JSON-RPC error code; null if the agent didn't send the error. */
export const rpcErrorCode = (error: unknown): number | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : null

export const isUnknownSession = (error: unknown): boolean =>
  rpcErrorCode(error) === NOT_FOUND ||
  /(?:unknown|no such|invalid) session|session .{0,80}(?:not found|does not exist|unknown)/i.test(
    errorText(error),
  )

/** The message with its details, because many errors only say "Internal error". */
export const errorText = (error: unknown): string => {
  const data = error instanceof Error && 'data' in error ? error.data : undefined
  const more =
    typeof data === 'string'
      ? data
      : isObject(data)
        ? ['details', 'message'].map(key => (data as Record<string, unknown>)[key]).find(Boolean)
        : undefined
  const message = messageOf(error)
  return typeof more === 'string' && more !== message ? `${message}: ${more}` : message
}

type FailedAgent = {
  name: string
  command: readonly string[]
  connection: { capabilities: InitializeResponse }
}

const isSignedOut = (error: unknown): boolean =>
  rpcErrorCode(error) === AUTH_REQUIRED ||
  /auth(?:entication)? required|not logged in|please (?:log|sign) in|please run [`'"]?\S+ (?:login|auth)/i.test(
    errorText(error),
  )

/** Null unless it says that nobody is signed in. */
export const toSignedOut = (
  error: unknown,
  { name, connection, command }: FailedAgent,
): SignedOut | null =>
  isSignedOut(error)
    ? new SignedOut(name, signInOf(errorText(error), connection.capabilities, command))
    : null

export const toTurnFailure = (error: unknown, running: FailedAgent): TurnFailure => {
  const text = errorText(error)
  const message = `${running.name}: ${text}`.slice(0, 1_000)
  return (
    toSignedOut(error, running) ??
    new TurnFailure({ type: classify({ message: text }).type, message })
  )
}

const lineOf = (
  command: readonly string[],
  env: Readonly<Record<string, string>> | null | undefined,
): string =>
  [
    ...Object.entries(env ?? {}).map(([name, value]) => `${name}=${shellQuote(value)}`),
    ...command.map(shellQuote),
  ].join(' ')

type Method = InitializeResponse['authMethods'][number]

/** A command line for a terminal; '' for a way that the agent itself takes, when it is asked to. */
const commandFor = ({ type, args, env, _meta }: Method, command: readonly string[]): string => {
  const terminal = _meta?.['terminal-auth']
  if (terminal) return lineOf([terminal.command, ...terminal.args], terminal.env)
  return type === 'terminal' ? lineOf([...command, ...args], env) : ''
}

/** Says no more than that a sign-in is needed. */
const GENERAL =
  /^(?:error: )?(?:authentication|authorization|sign-?in|log-?in) (?:is )?required\b[.!]?$/i

/** `text`: the error of the agent. */
const signInOf = (
  text: string,
  { authMethods }: InitializeResponse,
  command: readonly string[],
): SignIn => ({
  said: GENERAL.test(text.trim()) ? '' : text.trim(),
  methods: authMethods.map(method => ({
    id: method.id,
    name: method.name,
    description: method.description ?? '',
    command: commandFor(method, command),
  })),
})

/** In a sentence, for those who do not see the page's buttons. */
const signInHint = (name: string, { methods }: SignIn): string => {
  const ways = methods.map(({ name: way, description, command }) => {
    const more = [description, command && `run: ${command}`].filter(Boolean).join('; ')
    return more === '' ? way : `${way} (${more})`
  })
  const offered = ways.length > 0 ? ` It offers: ${ways.join('; ')}.` : ''
  return `Sign in with ${name}'s own program in a terminal on this machine, then send again.${offered}`.slice(
    0,
    2_000,
  )
}
