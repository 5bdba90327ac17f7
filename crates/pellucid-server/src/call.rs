//! A client's request that is being answered, and where the answer goes.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use serde::Serialize;

use crate::connection::Connection;
use crate::newest;
use crate::rpc;
use crate::rpc::RequestId;
use crate::rpc::RpcError;
use crate::server::Server;

/// A client's request that expects an answer of type `R`.
#[derive(Debug)]
pub struct MethodCall<R> {
    pub server: Arc<Server>,
    pub connection: Arc<Connection>,
    id: RequestId,
    method: &'static str,
    is_answered: Answered,
    answer: PhantomData<fn(R)>,
}

/// Whether a request has been answered; clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Answered(Arc<AtomicBool>);

impl Answered {
    /// Whether an answer or a refusal has been sent.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<R: Serialize> MethodCall<R> {
    /// Binds a client's request to its server and connection.
    pub fn new(
        (server, connection): (Arc<Server>, Arc<Connection>),
        id: RequestId,
        method: &'static str,
        is_answered: Answered,
    ) -> Self {
        Self { server, connection, id, method, is_answered, answer: PhantomData }
    }

    /// Sends the result to the client.
    pub async fn answer(&self, result: &R) {
        self.connection.send(self.answer_of(Ok(result))).await;
    }

    /// Sends an error to the client instead of a result.
    pub async fn refuse(&self, error: &RpcError) {
        self.connection.send(self.answer_of(Err(error))).await;
    }

    /// The encoded response, for a caller that decides how long to wait for the client.
    pub fn answer_of(&self, outcome: Result<&R, &RpcError>) -> Bytes {
        self.is_answered.note();
        match outcome {
            Ok(result) if self.connection.is_newest() => {
                rpc::response(&self.id, &newest::answer(&self.server, self.method, result))
            }
            Ok(result) => rpc::response(&self.id, result),
            Err(error) => rpc::refusal(Some(&self.id), error),
        }
    }
}
