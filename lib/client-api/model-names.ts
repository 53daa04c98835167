/** Model names of the client API: `agent` is the profile's default; the others are the ids of its model list. */
import { missing } from '../errors.ts'
import { resolveFor } from '../models/resolve.ts'
import type { Home } from '../profiles/home.ts'
import type { ModelList } from '../schema/model.ts'

const DEFAULT_NAME = 'agent'

export type ModelNamesOptions = {
  list: (home: Home) => Promise<ModelList>
  /** `changed`: this model cannot be used in this home. */
  compatible: (home: Home, model: string | null) => { changed: boolean }
}

export type ModelNames = ReturnType<typeof createModelNames>

export const createModelNames = ({ list, compatible }: ModelNamesOptions) => {
  const idsOf = async (home: Home): Promise<string[]> => {
    const { groups } = await list(home.lenient)
    return [...new Set(groups.flatMap(({ models }) => models.map(({ id }) => id)))]
  }

  const pairOf = (home: Home, id: string): string => {
    const { provider, model } = resolveFor(home, id)
    return JSON.stringify([provider, model])
  }

  return {
    list: async (home: Home): Promise<string[]> => [DEFAULT_NAME, ...(await idsOf(home))],
    /** The id that a session stores; empty for the default. An unknown name is a 404: nothing is replaced by something similar. */
    async resolve(home: Home, name: string): Promise<string> {
      if (name === DEFAULT_NAME) return ''
      const ids = await idsOf(home)
      const wanted = pairOf(home, name)
      const isListed = ids.includes(name) || ids.some(id => pairOf(home, id) === wanted)
      if (name.trim() !== '' && isListed && !compatible(home, name).changed) return name
      throw missing(
        `The model "${name.slice(0, 200)}" does not exist. Use "${DEFAULT_NAME}", or a name that GET /v1/models lists.`,
        { param: 'model', api_code: 'model_not_found' },
      )
    },
  }
}
