/** How to sign in to an external agent: the ways that it offers, and what it said. */
import { shellQuote } from '../../base/shell-quote.ts'
import type { SignIn } from '../external-agent.ts'
import type { InitializeResponse } from './updates.ts'

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

/** `said`: the error of the agent. */
export const signInOf = (
  said: string,
  { authMethods }: InitializeResponse,
  command: readonly string[],
): SignIn => ({
  said: GENERAL.test(said.trim()) ? '' : said.trim(),
  methods: authMethods.map(method => ({
    id: method.id,
    name: method.name,
    description: method.description ?? '',
    command: commandFor(method, command),
  })),
})

/** In a sentence, for those who do not see the page's buttons. */
export const signInHint = (name: string, { methods }: SignIn): string => {
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
