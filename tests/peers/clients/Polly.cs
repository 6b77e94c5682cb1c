// The few types of Polly that a generated client names: Polly itself is not in the registries that the peers come from.
// A client uses them where its caller sets a retry policy, which Send.cs does not.

using System;
using System.Threading.Tasks;

namespace Polly
{
    public enum OutcomeType { Successful, Failure }

    public class PolicyResult<T>
    {
        public OutcomeType Outcome { get; set; }
        public T Result { get; set; }
        public Exception FinalException { get; set; }
    }

    public interface ISyncPolicy<T> { }

    public interface IAsyncPolicy<T>
    {
        Task<PolicyResult<T>> ExecuteAndCaptureAsync(Func<Task<T>> action);
    }
}
