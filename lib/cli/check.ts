/** One result of `doctor`: what was checked, what was found, and what to do when it is not right. */
import type { Machine } from '../app/machine.ts'
import type { Config } from '../config.ts'
import type { ModelServices } from '../models/model-services.ts'
import type { AcceptedSettings } from '../guards/accepted-settings.ts'
import type { Home } from '../profiles/home.ts'
import type { Homes } from '../profiles/homes.ts'

export type Level = 'ok' | 'warn' | 'fail'

/** A repair that loses nothing and needs no decision. */
export type Fix = {
  /** What `apply` does, in the infinitive: "set the mode of … to 600". */
  does: string
  apply: () => void
}

export type Check = {
  about: string
  level: Level
  said: string
  /** What to do. Present unless the level is ok. */
  advice?: string
  /** What `doctor --fix` does about it. */
  fix?: Fix
  /** It may be different at the next start, although nobody does anything. */
  mayPass?: true
}

export type CheckContext = {
  config: Config
  home: Home
  homes: Pick<Homes, 'list'>
  acceptedSettings: AcceptedSettings
  models: Pick<ModelServices, 'ready' | 'compatible' | 'endpoint'>
  addon: string | undefined
  machine: Machine
  /** First segments of the paths of the server. */
  ownNames: ReadonlySet<string>
}

export const ok = (about: string, said: string): Check => ({ about, level: 'ok', said })
export const warn = (about: string, said: string, advice: string, fix?: Fix): Check => ({
  about,
  level: 'warn',
  said,
  advice,
  ...(fix && { fix }),
})
export const fail = (about: string, said: string, advice: string, fix?: Fix): Check => ({
  about,
  level: 'fail',
  said,
  advice,
  ...(fix && { fix }),
})
