/** For `--import`: prints the V8 flags that a program sets, and of each V8 code cache whether it was used. */
import { syncBuiltinESMExports } from 'node:module'
import v8 from 'node:v8'
import vm from 'node:vm'

const { setFlagsFromString } = v8
v8.setFlagsFromString = flags => {
  console.log(`V8 flags ${flags}`)
  setFlagsFromString(flags)
}
syncBuiltinESMExports()

const { Script } = vm
vm.Script = class extends Script {
  constructor(code, options) {
    super(code, options)
    if (options?.cachedData)
      console.log(`code cache ${this.cachedDataRejected ? 'rejected' : 'used'}`)
  }
}
