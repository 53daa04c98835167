/** A Preact context for the state of one feature, with a hook that throws outside the page. */
import { createContext, type Provider } from 'preact'
import { useContext } from 'preact/hooks'

export type FeatureContext<T> = { Provider: Provider<T | null>; use: () => T }

export const featureContext = <T>(name: string): FeatureContext<T> => {
  const context = createContext<T | null>(null)
  return {
    Provider: context.Provider,
    use() {
      const feature = useContext(context)
      if (!feature) throw new Error(`${name} is used outside the page`)
      return feature
    },
  }
}
