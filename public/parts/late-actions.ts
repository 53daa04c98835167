/** Actions whose module is loaded when one of them is first called. */

type Action = (...given: never[]) => Promise<undefined>
type Attempt = (action: () => Promise<unknown>) => Promise<void>

/** `attempt` also reports that the module could not be loaded. */
export const lateActions = <T extends Record<keyof T, Action>>(
  names: readonly (keyof T & string)[],
  load: () => Promise<T>,
  attempt: Attempt,
): T => {
  const late =
    (name: keyof T): Action =>
    async (...given) => {
      await attempt(async () => (await load())[name](...given))
      return undefined
    }
  return Object.fromEntries(names.map(name => [name, late(name)])) as T
}
