//! A request that is being done, and where its answer goes.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use serde::Serialize;

use crate::connection::Connection;
use crate::rpc;
use crate::rpc::RequestId;
use crate::rpc::RpcError;
use crate::server::Server;

/// A request that wants an answer of this type.
#[derive(Debug)]
pub struct Call<R> {
    /// Who does it.
    pub server: Arc<Server>,
    /// Who asks.
    pub connection: Arc<Connection>,
    id: RequestId,
    is_answered: Answered,
    answer: PhantomData<fn(R)>,
}

/// Whether a request has got its answer.
#[derive(Debug, Clone, Default)]
pub struct Answered(Arc<AtomicBool>);

impl Answered {
    /// Whether it has.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<R: Serialize> Call<R> {
    /// A request of a client.
    pub fn new(server: Arc<Server>, connection: Arc<Connection>, id: RequestId, is_answered: Answered) -> Self {
        Self { server, connection, id, is_answered, answer: PhantomData }
    }

    /// Answers it.
    pub async fn answer(&self, result: &R) {
        self.connection.send(self.answer_of(Ok(result))).await;
    }

    /// Refuses it.
    pub async fn refuse(&self, error: &RpcError) {
        self.connection.send(self.answer_of(Err(error))).await;
    }

    /// The message that answers it, for a sender that decides how long to wait for the client.
    pub fn answer_of(&self, outcome: Result<&R, &RpcError>) -> Bytes {
        self.is_answered.note();
        match outcome {
            Ok(result) => rpc::response(&self.id, result),
            Err(error) => rpc::refusal(Some(&self.id), error),
        }
    }
}
