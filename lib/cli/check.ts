/** One result of `doctor`: what was checked, what was found, and what to do when it is not right. */
import type { Config } from '../config.ts'
import type { ModelServices } from '../models/model-services.ts'
import type { Home } from '../profiles/home.ts'

export type Level = 'ok' | 'warn' | 'fail'
export type Check = {
  about: string
  level: Level
  said: string
  /** What to do. Present unless the level is ok. */
  advice?: string
}

export type CheckContext = {
  config: Config
  home: Home
  models: Pick<ModelServices, 'ready' | 'compatible' | 'endpoint'>
  addon: string | undefined
}

export const ok = (about: string, said: string): Check => ({ about, level: 'ok', said })
export const warn = (about: string, said: string, advice: string): Check => ({
  about,
  level: 'warn',
  said,
  advice,
})
export const fail = (about: string, said: string, advice: string): Check => ({
  about,
  level: 'fail',
  said,
  advice,
})
