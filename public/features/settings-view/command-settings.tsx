/** Settings → Permissions: where commands run, what is asked for, and what is always allowed. */
import { AllowedCommands } from './allowed-commands.tsx'
import { CommandPlace } from './command-place.tsx'
import { PermissionRules } from './permission-rules.tsx'

export const CommandSettings = () => (
  <>
    <CommandPlace />
    <PermissionRules />
    <AllowedCommands />
  </>
)
