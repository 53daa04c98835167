/** Members that are made when they are read for the first time: most starts are followed by nothing that needs them. */

/** `name` is declared with `declare`: a field of its own would make the object slow when it is replaced. */
export const late = <T extends object, K extends keyof T>(
  owner: T,
  name: K,
  make: () => T[K] & object,
): void => {
  let instance: (T[K] & object) | undefined
  Object.defineProperty(owner, name, {
    enumerable: true,
    get: () => {
      instance ??= make()
      return instance
    },
  })
}
